"""Files of the results bundle: README, printable page, tables, metric, hashes, citation."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

from grader.metrics import registry
from grader.metrics.interface import ColumnKind, Exactness
from grader.models import Split
from grader.ranking.order import CELL_DECIMALS, TERM_DECIMALS, term_text
from grader.services.competitions.entry_fields import Value
from grader.services.exports import croissant
from grader.services.exports.bundle import BundleLine, FinalResults
from grader.services.leaderboards.group_tables import text
from grader.services.leaderboards.submission_results import IdentityRow, SplitResult
from grader.text import csv_lines

CELLS = {cell.name: cell.title for cell in registry.default().cells}
FIRST_TEAMS = 10  # the number of teams on the printable page
STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: .8rem 0 .4rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #8886; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid; }
.n { text-align: right; white-space: nowrap; }
small, .quiet { opacity: .75; }
code { overflow-wrap: anywhere; }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
@media print {
  body { margin: 0; max-width: none; font-size: 9pt; }
  h2 { break-after: avoid; } table { break-inside: auto; } tr { break-inside: avoid; }
  .scroll { overflow: visible; }
}
"""

README = """\
Results of {title}: final standings {number}, finalized on {date} UTC.

results.html              all results as a printable page
boards/                   both leaderboards as CSV and JSON; the private one is the final one{named}
{chart}{tables}metric.md, metric.json    the metric, its settings and the version of its code
hashes.csv                the sha256 of every file that counted, and the commitment to the solution
croissant.json            description of the tables for tools such as mlcroissant (Croissant 1.0, JSON-LD)
CITATION.cff              how to cite these results
SHA256SUMS                checksums of all these files; verify them with sha256sum -c SHA256SUMS
{more}
{decimals}, as on the competition's pages.
"""
CHART = """\
accuracy-fairness.svg     scatter plot of both values of each team on the private rows, with the Pareto front
"""
NAMED = "\nboards/private-*.csv      the final named leaderboards"
IDENTITIES = """\
identities/               AUCs and AEGs of each identity for the submissions that counted, on both splits
"""
METRIC_FILE = """\
metric.py                 the function that computes the score
"""
GROUPS = """\
groups/                   the value of each group for the submissions that counted, on both splits
"""
WITH_SOLUTION = """\
solution.csv              the solution in its canonical form
solution-nonce.txt        the nonce: the commitment is the sha256 of its bytes followed by solution.csv
receipts/                 the exact {evidence} behind every score; to recompute one, run `fairboard verify
                          receipts/N.json --solution solution.csv --submission FILE`
"""
EXACTNESS = {
    Exactness.COUNTS: "The score follows from integer counts, so every machine computes identical scores.",
    Exactness.SUMS: "The values of the rows are added exactly, so the score does not depend on their order. "
    "Machines with other CPU features may compute other last digits.",
    Exactness.OPAQUE: "The score is a function of the complete files, which metric.py contains.",
}


def texts(results: FinalResults, *, address: str) -> dict[str, str]:
    """Return a bundle's files by name, without the solution; `address` is the competition's URL."""
    files = {
        "README.txt": _readme(results),
        "results.html": _page(results, address=address),
        "metric.md": _metric_text(results),
        "metric.json": _json(_metric(results)),
        "hashes.csv": _hashes(results),
        "CITATION.cff": _citation(results, address),
    }
    for split in Split:
        files[f"boards/{split}.csv"] = _board_csv(results, split)
        files[f"boards/{split}.json"] = _json(_board(results, split))
        if results.rules.is_bias:
            files[f"identities/{split}.csv"] = csv_lines(_identity_rows(results, split))
        elif _has_groups(results):
            files[f"groups/{split}.csv"] = csv_lines(_group_rows(results, split))
    header = ["rank", "team", "value", "submission", "sha256", "public_rank"]
    for key, lines in results.named.items():
        cells = [
            [each.rank, each.team, each.score, each.submission_id, each.sha256, each.public_rank]
            for each in lines
        ]
        files[f"boards/private-{key}.csv"] = csv_lines([header, *cells])
    files["croissant.json"] = croissant.document(
        title=results.title,
        address=address,
        creators=_creators(results),
        number=results.number,
        published=results.finalized_at,
        tables={
            name.removesuffix(".csv").replace("/", "-"): (name, text)
            for name, text in files.items()
            if name.endswith(".csv") and "/" in name
        },
    )
    if results.chart is not None:
        files["accuracy-fairness.svg"] = results.chart
    if results.nonce is not None:
        files["solution-nonce.txt"] = f"{results.nonce}\n"
    for receipt in results.receipts:
        files[f"receipts/{receipt.submission}.json"] = receipt.to_json()
    return files


def _creators(results: FinalResults) -> tuple[str, ...]:
    return results.organizers or (f"Organizers of {results.title}",)


def _term_decimals(results: FinalResults) -> int:
    return TERM_DECIMALS if results.rules.is_bias else results.rules.about.decimals


def _has_groups(results: FinalResults) -> bool:
    return any(result.groups for splits in results.results.values() for result in splits.values())


def _readme(results: FinalResults) -> str:
    is_bias, has_groups, decimals = results.rules.is_bias, _has_groups(results), results.rules.about.decimals
    shown = f"Scores and terms have {decimals} decimals"
    if is_bias:
        shown = f"Scores have {decimals} decimals, terms {TERM_DECIMALS} and table cells {CELL_DECIMALS}"
    elif has_groups:
        shown = f"{shown}, values of groups 3 significant digits"
    solution = WITH_SOLUTION.format(evidence="counts" if is_bias else "counts or sums")
    return README.format(
        chart=CHART if results.chart else "",
        named=NAMED if results.named else "",
        tables=(IDENTITIES if is_bias else GROUPS if has_groups else "")
        + (METRIC_FILE if results.rules.as_settings().get("source") else ""),
        decimals=shown,
        title=results.title,
        number=results.number,
        date=_day(results.finalized_at),
        more=solution if results.receipts else "",
    )


def _board_csv(results: FinalResults, split: Split) -> str:
    lines, is_private = results.boards[split], split is Split.PRIVATE
    terms, decimals = results.rules.term_names, _term_decimals(results)
    division = ["division"] if results.has_divisions else []
    header = ["rank", "team", *division, "members", "score", *terms, "submission", "sha256"]
    details = [f"detail: {name}" for name in results.fields]
    rows = [
        [
            line.rank,
            line.team,
            *([line.division] if division else []),
            "; ".join(line.members),
            line.score,
            *(_cell(line.terms.get(term), decimals) for term in terms),
            line.submission_id,
            line.sha256,
            *([line.public_rank, *map(_details(line).get, results.fields)] if is_private else []),
        ]
        for line in lines
    ]
    return csv_lines([[*header, *(["public_rank", *details] if is_private else [])], *rows])


def _board(results: FinalResults, split: Split) -> dict[str, Any]:
    return {
        "competition": results.slug,
        "split": split.value,
        "final_standings": results.number,
        "finalized_at": results.finalized_at.isoformat(),
        "scoring_version": results.scoring_version,
        "teams": [
            {
                "rank": line.rank,
                "team": line.team,
                "members": list(line.members),
                "score": float(line.score),
                "terms": dict(line.terms),
                "submission": line.submission_id,
                "sha256": line.sha256,
            }
            | ({"public_rank": line.public_rank} if split is Split.PRIVATE else {})
            | ({"division": line.division} if results.has_divisions else {})
            | ({"details": _details(line)} if split is Split.PRIVATE and results.fields else {})
            for line in results.boards[split]
        ],
    }


def _details(line: BundleLine) -> dict[str, Value]:
    return {each.name: each.value for each in line.details}


def _tables(results: FinalResults, split: Split) -> Iterator[tuple[BundleLine, IdentityRow]]:
    for line in results.boards[Split.PRIVATE]:
        result = results.results[line.submission_id].get(split)
        for identity in result.identities if result else ():
            yield line, identity


def _identity_rows(results: FinalResults, split: Split) -> Iterator[list[object]]:
    yield ["rank", "team", "submission", "identity", *CELLS]
    for line, identity in _tables(results, split):
        cells = [_cell(identity.cells.get(name), 2) for name in CELLS]
        yield [line.rank, line.team, line.submission_id, identity.name, *cells]


def _group_rows(results: FinalResults, split: Split) -> Iterator[list[object]]:
    yield ["rank", "team", "submission", "column", "group", "rows", "score", "standard_error"]
    for line in results.boards[Split.PRIVATE]:
        result = results.results[line.submission_id].get(split)
        for table in result.groups if result else ():
            for group in table.groups:
                values = (group.name, group.rows, group.score, group.standard_error)
                yield [line.rank, line.team, line.submission_id, table.column, *values]


def _metric(results: FinalResults) -> dict[str, Any]:
    about = results.rules.about
    return {
        "metric": f"{about.title}: {about.sentence}",
        "metric_code_version": results.metric_code_version,
        "fairboard": version("fairboard"),
        "scoring_version": results.scoring_version,
        "solution": {"number": results.solution_number, "commitment": results.commitment},
        "rows": {split.value: count for split, count in results.rows.items()},
        "settings": results.rules.as_settings(),
    }


def _metric_text(results: FinalResults) -> str:
    about = results.rules.about
    settings, exactness = _bias_text(results) if results.rules.is_bias else _named_text(results)
    return (
        f"# The metric of {results.title}\n\n"
        + (f"{results.evaluation.strip()}\n\n" if results.evaluation.strip() else "")
        + f"{about.formula or f'{about.title}: {about.sentence}'}\n\n"
        f"{settings}"
        f"- Rows: {', '.join(f'{split} {count:,}' for split, count in results.rows.items())}\n"
        f"- Scoring version {results.scoring_version}, solution {results.solution_number} "
        f"(commitment {results.commitment})\n"
        f"- Metric code version {results.metric_code_version}, Fairboard {version('fairboard')}\n\n"
        f"{exactness}\n"
    )


def _bias_text(results: FinalResults) -> tuple[str, str]:
    metric = results.rules.bias
    weights = ", ".join(f"{name} {weight:g}" for name, weight in metric.weights.as_dict().items())
    settings = (
        f"- Power p: {metric.power:g}\n"
        f"- Weights: {weights}\n"
        f"- A label is positive at a value >= {metric.label_threshold:g}; a row mentions an identity at "
        f">= {metric.identity_threshold:g}; a blank means no mention\n"
        f"- Undefined AUCs: {metric.undefined}\n"
        f"- Identities (N = {len(results.rules.identities)}): {', '.join(results.rules.identities)}\n"
    )
    return settings, (
        "Pair counts are exact, and AUCs are combined with 40 digits, so every machine computes identical "
        "scores."
    )


def _named_text(results: FinalResults) -> tuple[str, str]:
    lines = (f"- {name}: {value}\n" for name, value in _options(results).items())
    return "".join(lines), EXACTNESS[results.rules.about.exactness]


def _options(results: FinalResults) -> dict[str, str]:
    """Return the options of a metric other than that of bias, by title; those without a value are omitted."""
    about, settings = results.rules.about, results.rules.as_settings()
    options = {
        "Best score": about.direction.value,
        "Columns of a submission": ", ".join(each.name for each in about.predictions),
        "Classes": ", ".join(settings["classes"]),
        "Positive class": settings["positive"] or "",
        "Places that count": (
            f"{settings['cutoff']}"
            if any(each.kind is ColumnKind.CLASSES for each in about.predictions)
            else ""
        ),
        "Groups": ", ".join(settings["groups"]),
        "Groups in the score": ", ".join(" = ".join(each) for each in settings["scored_groups"]),
        "Weight of the overall value": f"{settings['weight']:g}" if settings["scored_groups"] else "",
        "Reported, not in the score": ", ".join(each.title for each in about.terms if each.is_reported),
    }
    return {name: value for name, value in options.items() if value}


def _hashes(results: FinalResults) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["what", "number", "sha256"])
    writer.writerow(["commitment to the solution", results.solution_number, results.commitment])
    files = {line.submission_id: line.sha256 for split in Split for line in results.boards[split]}
    writer.writerows(["submission", number, sha256] for number, sha256 in sorted(files.items()))
    return text.getvalue()


def _citation(results: FinalResults, address: str) -> str:
    """Return a CITATION.cff (1.2.0); JSON strings are valid YAML."""
    said = f"Final standings {results.number} of {results.title}"
    lines = [
        "cff-version: 1.2.0",
        f"message: {_yaml('If you use these results, please cite them as below.')}",
        "type: dataset",
        f"title: {_yaml(f'{results.title}: final results')}",
        "authors:",
        *(f"  - name: {_yaml(name)}" for name in _creators(results)),
        f"version: {_yaml(str(results.number))}",
        f"date-released: {_day(results.finalized_at)}",
        f"url: {_yaml(address)}",
        f"abstract: {_yaml(f'{said}, scoring version {results.scoring_version}.')}",
    ]
    if results.rules.is_bias:
        lines += [
            "references:",
            "  - type: conference-paper",
            f"    title: {_yaml(BORKAN_TITLE)}",
            "    authors:",
            *(
                f"      - family-names: {last}\n        given-names: {first}"
                for first, last in BORKAN_AUTHORS
            ),
            "    year: 2019",
            f"    collection-title: {_yaml('Companion Proceedings of the 2019 World Wide Web Conference')}",
            "    doi: 10.1145/3308560.3317593",
        ]
    return "\n".join([*lines, ""])


BORKAN_TITLE = "Nuanced Metrics for Measuring Unintended Bias with Real Data for Text Classification"
BORKAN_AUTHORS = (
    ("Daniel", "Borkan"),
    ("Lucas", "Dixon"),
    ("Jeffrey", "Sorensen"),
    ("Nithum", "Thain"),
    ("Lucy", "Vasserman"),
)


def _yaml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _cell(value: float | None, decimals: int) -> str:
    return "" if value is None else term_text(value, decimals)


def _day(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d}"


def _page(results: FinalResults, *, address: str) -> str:
    """Return the printable page: both leaderboards, tables of the top teams, the metric and hashes."""
    title = f"{results.title}: final results"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>Final standings {results.number}, finalized on {_moment(results.finalized_at)}. The "
            f"competition closed on {_moment(results.closed_at)}. {escape(results.reason)}</p>",
            f'<p class="quiet">{escape(address)}</p>',
            _board_table("Private leaderboard", results, Split.PRIVATE),
            _board_table("Public leaderboard", results, Split.PUBLIC),
            *([_identity_tables(results)] if results.rules.is_bias else []),
            *([_group_tables(results)] if _has_groups(results) else []),
            _metric_list(results),
            "</body>",
            "</html>",
            "",
        ]
    )


def _board_table(name: str, results: FinalResults, split: Split) -> str:
    lines, is_private = results.boards[split], split is Split.PRIVATE
    terms, decimals = results.rules.about.terms, _term_decimals(results)
    titles = [*(term.title for term in terms[:1]), *(term.heading or term.title for term in terms[1:])]
    division = ["Division"] if results.has_divisions else []
    heads = [
        "Rank",
        *(["Public rank"] if is_private else []),
        "Team",
        *division,
        "Score",
        *map(escape, titles),
    ]
    rows = [
        "<tr>"
        + _number(line.rank)
        + (_number("" if line.public_rank is None else line.public_rank) if is_private else "")
        + f"<td><bdi>{escape(line.team)}</bdi>{_members(line)}</td>"
        + (f"<td>{escape(line.division or '')}</td>" if results.has_divisions else "")
        + _number(line.score)
        + "".join(_number(_cell(line.terms.get(term.name), decimals)) for term in terms)
        + "</tr>"
        for line in lines
    ]
    return f"<h2>{name}</h2>\n" + _table(heads, rows)


def _members(line: BundleLine) -> str:
    others = [name for name in line.members if name != line.team]
    return f"<br><small>{escape(', '.join(others))}</small>" if others else ""


def _identity_tables(final: FinalResults) -> str:
    parts = [
        "<h2>Identities</h2>",
        f"<p>The submissions that counted of the top {FIRST_TEAMS} teams; identities/ contains all teams. An "
        "AEG above zero means that rows that mention the identity get higher predictions than other rows of "
        "the same class.</p>",
    ]
    for line in final.boards[Split.PRIVATE][:FIRST_TEAMS]:
        parts.append(f"<h3>{line.rank}. <bdi>{escape(line.team)}</bdi></h3>")
        results = final.results[line.submission_id]
        parts += [_identities(split, results[split]) for split in reversed(Split) if split in results]
    return "\n".join(parts)


def _identities(split: Split, result: SplitResult) -> str:
    rows = [
        f"<tr><td>{escape(identity.name)}</td>"
        + "".join(_number(_cell(identity.cells.get(name), 2)) for name in CELLS)
        + "</tr>"
        for identity in result.identities
    ]
    caption = f"Score {result.score} on the {split} rows"
    return _table(["Identity", *CELLS.values()], rows, caption=caption)


def _group_tables(final: FinalResults) -> str:
    parts = [
        "<h2>Groups</h2>",
        f"<p>The submissions that counted of the top {FIRST_TEAMS} teams; groups/ contains all teams.</p>",
    ]
    for line in final.boards[Split.PRIVATE][:FIRST_TEAMS]:
        parts.append(f"<h3>{line.rank}. <bdi>{escape(line.team)}</bdi></h3>")
        results = final.results[line.submission_id]
        for split in (each for each in reversed(Split) if each in results):
            rows = [
                f"<tr><td>{escape(f'{table.column} = {group.name}')}</td>{_number(f'{group.rows:,}')}"
                + _number(text(group.score))
                + _number("" if group.standard_error is None else f"{group.standard_error:g}")
                + "</tr>"
                for table in results[split].groups
                for group in table.groups
            ]
            caption = f"Score {results[split].score} on the {split} rows"
            parts.append(_table(["Group", "Rows", "Score", "Standard error"], rows, caption=caption))
    return "\n".join(parts)


def _metric_list(results: FinalResults) -> str:
    facts = {"Scoring version": str(results.scoring_version)}
    if results.rules.is_bias:
        metric = results.rules.bias
        facts |= {
            "Identities": ", ".join(results.rules.identities),
            "Power": f"{metric.power:g}",
            "Weights": ", ".join(f"{name} {weight:g}" for name, weight in metric.weights.as_dict().items()),
            "Thresholds": f"label {metric.label_threshold:g}, identity {metric.identity_threshold:g}",
        }
    else:
        about = results.rules.about
        facts |= {"Metric": f"{about.title}: {about.sentence}", **_options(results)}
    facts |= {
        "Rows": ", ".join(f"{split} {count:,}" for split, count in results.rows.items()),
        "Metric code version": results.metric_code_version,
        "Solution": f"number {results.solution_number}, commitment {results.commitment}",
    }
    lines = [f"<dt>{name}</dt><dd><code>{escape(value)}</code></dd>" for name, value in facts.items()]
    return "<h2>Metric</h2>\n<dl>" + "\n".join(lines) + "</dl>"


def _table(heads: list[str], rows: list[str], *, caption: str = "") -> str:
    words = ("Team", "Identity", "Group")
    head = "".join(f'<th scope="col"{"" if name in words else " class=n"}>{name}</th>' for name in heads)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(rows)
    table = f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _number(value: object) -> str:
    return f'<td class="n">{value}</td>'


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
