"""Report sections of the data audit: labels and identities of a solution without predictions."""

from collections.abc import Mapping

from grader.charts.axes import Axis
from grader.charts.frame import bar_chart
from grader.metrics.analysis.annotations.annotations import TENTHS, FractionCounts
from grader.metrics.analysis.annotations.audit import DataAudit
from grader.metrics.analysis.annotations.comentions import CoMentions
from grader.metrics.analysis.matrix import Matrix
from grader.reports.blocks import Chart, Section, Table, matrix_table, number, share, table, why_empty

READINGS = {"fractions": "fractions", "binarized": "binarized"}
UNITS = {"comments": "of comments", "pairs": "of pairs of an identity and a label"}


def audit_sections(found: DataAudit) -> tuple[Section, ...]:
    """Return the sections of a data audit."""
    if not found.identities:
        return (_fractions(found),)
    return (_associations(found), _fractions(found), _together(found.co_mentions, found))


def _associations(found: DataAudit) -> Section:
    matrices = {
        **{f"Pearson's r ({READINGS[reading]})": matrix for reading, matrix in found.correlations.items()},
        **{f"PPMI ({UNITS[unit]})": matrix for unit, matrix in found.ppmi.items()},
    }
    one_label = len(found.labels) == 1
    blocks = [_beside(matrices)] if one_label else [matrix_table(*each) for each in matrices.items()]
    means = [
        (
            each.identity or "all rows",
            each.label,
            f"{each.rows:,}",
            f"{each.positives:,}",
            number(each.mean),
            number(each.mean_of_positives),
        )
        for each in found.mean_labels
    ]
    head = ("rows of", "label", "count", "positive", "mean", "mean of the positive")
    blocks.append(table("Mean label", head, means))
    data = {
        "correlations": {reading: matrix.as_dict() for reading, matrix in found.correlations.items()},
        "ppmi": {unit: matrix.as_dict() for unit, matrix in found.ppmi.items()},
        "mean_labels": [each.as_dict() for each in found.mean_labels],
    }
    text = (
        "Pearson's correlation, and positive pointwise mutual information: how much more often an identity "
        "and a label meet than if they were independent, as a natural logarithm, 0 where it is less often."
    )
    alone = "In pairs labels compete with each other, so that a label alone always has 0 or nothing."
    texts = (text, alone) if one_label else (text,)
    return Section("associations", "Identities and labels in the data", texts, tuple(blocks), data)


def _beside(matrices: Mapping[str, Matrix]) -> Table:
    """Return matrices that have one label as the columns of one table."""
    first = next(iter(matrices.values()))
    label = first.labels[0]
    lines = [
        (identity, *(number(matrix.value(identity, label)) for matrix in matrices.values()))
        for identity in first.identities
    ]
    reasons = (
        (identity, reason) for matrix in matrices.values() for (identity, _), reason in matrix.reasons.items()
    )
    return table(f"Identities and {label}", ("identity", *matrices), lines, notes=why_empty(reasons))


def _fractions(found: DataAudit) -> Section:
    columns = (*found.labels, *found.identities)
    graded = [each for each in columns if _is_graded(each)]
    plain = [each for each in columns if not _is_graded(each)]
    blocks: list[Table | Chart] = []
    if graded:
        thresholds = [f">= {each.threshold:g}" for each in graded[0].sweep]
        lines = [
            (
                each.name,
                f"{each.blanks:,}",
                *(f"{count.rows:,} ({share(count.share)})" for count in each.sweep),
            )
            for each in graded
        ]
        head = ("column", "blank", *thresholds)
        blocks += [table("Rows that count as true, by the threshold", head, lines)]
        blocks += map(_fraction_chart, graded)
    if plain:
        counts = [
            (each.name, f"{each.blanks:,}", f"{each.tenths[-1]:,}", share(each.sweep[-1].share))
            for each in plain
        ]
        caption = "Columns of 0 and 1 alone, for which no threshold matters"
        blocks.append(table(caption, ("column", "blank", "true", "share"), counts))
    data = [each.as_dict() for each in columns]
    return Section("fractions", "Raters' fractions", (), tuple(blocks), data)


def _is_graded(counts: FractionCounts) -> bool:
    return any(counts.tenths[1:-1]) or len({each.rows for each in counts.sweep}) > 1


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
    mentioned = table(
        "Identities in the rows that mention one, itself included",
        ("identity", "mean"),
        ((name, number(mean)) for name, mean in found.mean_by_identity.items()),
    )
    blank = "is not mentioned" if whole.background == "all" else "takes no part"
    text = f"{whole.rows:,} rows; a blank identity {blank}."
    return Section("co_mentions", "Identities together", (text,), (per_row, mentioned, both), found.as_dict())
