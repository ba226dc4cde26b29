"""What a solution says before there is any model."""

from grader.metrics.analysis.audit import DataAudit
from grader.metrics.analysis.comentions import CoMentions
from grader.metrics.analysis.fractions import TENTHS, FractionCounts
from grader.reports.blocks import Chart, Section, matrix_table, number, share, table
from grader.reports.svg import Axis, bar_chart

READINGS = {"fractions": "raters' fractions", "binarized": "binarized at the thresholds"}
UNITS = {"comments": "one count a row", "pairs": "one count a pair of identity and label in a row"}


def audit_sections(found: DataAudit) -> tuple[Section, ...]:
    """Return the sections of a data audit."""
    return (
        _associations(found),
        _fractions(found),
        _together(found.co_mentions, found),
    )


def _associations(found: DataAudit) -> Section:
    blocks = [
        matrix_table(f"Pearson correlation ({READINGS[reading]})", matrix)
        for reading, matrix in found.correlations.items()
    ]
    blocks += [
        matrix_table(f"Positive pointwise mutual information ({UNITS[unit]})", matrix)
        for unit, matrix in found.ppmi.items()
    ]
    means = [
        (each.identity or "all rows", each.label, f"{each.rows:,}", f"{each.positives:,}", number(each.mean))
        for each in found.mean_labels
    ]
    blocks.append(table("Mean label", ("rows of", "label", "count", "positive", "mean"), means))
    data = {
        "correlations": {reading: matrix.as_dict() for reading, matrix in found.correlations.items()},
        "ppmi": {unit: matrix.as_dict() for unit, matrix in found.ppmi.items()},
        "mean_labels": [each.as_dict() for each in found.mean_labels],
    }
    return Section("associations", "Identities and labels in the data", (), tuple(blocks), data)


def _fractions(found: DataAudit) -> Section:
    columns = (*found.labels, *found.identities)
    charts = tuple(_fraction_chart(each) for each in columns)
    thresholds = [f">= {each.threshold:g}" for each in columns[0].sweep] if columns else []
    sweep = table(
        "Rows that count as true, by the threshold",
        ("column", "blank", *thresholds),
        (
            (
                each.name,
                f"{each.blanks:,}",
                *(f"{count.rows:,} ({share(count.share)})" for count in each.sweep),
            )
            for each in columns
        ),
    )
    return Section(
        "fractions", "Raters' fractions", (), (sweep, *charts), [each.as_dict() for each in columns]
    )


def _fraction_chart(counts: FractionCounts) -> Chart:
    title = f"{counts.name}: values by tenths"
    highest = max(*counts.tenths, 1)
    bars = [(f"{tenth:g}", float(rows)) for tenth, rows in zip(TENTHS, counts.tenths, strict=True)]
    lines = [(f"{tenth:g}", f"{rows:,}") for tenth, rows in zip(TENTHS, counts.tenths, strict=True)]
    svg = bar_chart(
        title,
        bars,
        Axis("rows (logarithmic)", 0.5, highest * 1.3, is_logarithmic=True),
        "value, rounded to tenths",
    )
    return Chart(svg, table(title, ("value", "rows"), lines))


def _together(found: CoMentions, whole: DataAudit) -> Section:
    per_row = table(
        f"Identities in a row: {number(found.mean)} on average, {number(found.mean_where_any)} where any",
        ("identities", "rows"),
        ((str(count), f"{rows:,}") for count, rows in enumerate(found.identities_per_row)),
    )
    both = table(
        "Rows that mention both",
        ("identity", *found.identities),
        (
            (name, *(f"{rows:,}" for rows in line))
            for name, line in zip(found.identities, found.rows, strict=True)
        ),
    )
    blank = "is not mentioned" if whole.background == "all" else "takes no part"
    text = f"{whole.rows:,} rows; a blank identity {blank}."
    return Section("co_mentions", "Identities together", (text,), (per_row, both), found.as_dict())
