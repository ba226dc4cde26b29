"""Printable HTML page inside the results bundle."""

from datetime import UTC, datetime
from html import escape

from grader.models import Split
from grader.services.exports.bundle import BoardLine, FinalResults
from grader.services.leaderboards.lines import TERMS
from grader.services.leaderboards.submission_results import SplitResult

TERM_NAMES = ("Overall AUC", "Subgroup", "BPSN", "BNSP")
CELL_NAMES = {
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "positive_aeg": "Positive AEG",
    "negative_aeg": "Negative AEG",
}
TABLES = 10
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


def printable(found: FinalResults, *, address: str) -> str:
    """Return the page: both leaderboards, the tables of the first teams, the metric and the hashes."""
    title = f"{found.title}: final results"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            '<head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>",
            "<body>",
            f"<h1>{escape(title)}</h1>",
            f"<p>Final standings {found.number}, made final on {_moment(found.finalized_at)}; the "
            f"competition closed on {_moment(found.closed_at)}. {escape(found.reason)}</p>",
            f'<p class="quiet">{escape(address)}</p>',
            _board("Private leaderboard", found.boards[Split.PRIVATE], is_private=True),
            _board("Public leaderboard", found.boards[Split.PUBLIC], is_private=False),
            _tables(found),
            _metric(found),
            "</body>",
            "</html>",
            "",
        ]
    )


def _board(name: str, lines: tuple[BoardLine, ...], *, is_private: bool) -> str:
    heads = ["Rank", *(["Public rank"] if is_private else []), "Team", "Score", *TERM_NAMES]
    rows = [
        "<tr>"
        + _number(line.rank)
        + (_number("" if line.public_rank is None else line.public_rank) if is_private else "")
        + f"<td><bdi>{escape(line.team)}</bdi>{_members(line)}</td>"
        + _number(line.score)
        + "".join(_number(_text(line.terms.get(term), 4)) for term in TERMS)
        + "</tr>"
        for line in lines
    ]
    return f"<h2>{name}</h2>\n" + _table(heads, rows)


def _members(line: BoardLine) -> str:
    others = [name for name in line.members if name != line.team]
    return f"<br><small>{escape(', '.join(others))}</small>" if others else ""


def _tables(found: FinalResults) -> str:
    parts = [
        "<h2>Identities</h2>",
        f"<p>Of the submissions that counted, the first {TABLES} teams; identities/ has all of them. An AEG "
        "above zero says that rows which mention the identity get higher predictions than others of the same "
        "class.</p>",
    ]
    for line in found.boards[Split.PRIVATE][:TABLES]:
        parts.append(f"<h3>{line.rank}. <bdi>{escape(line.team)}</bdi></h3>")
        results = found.results[line.submission_id]
        parts += [_identities(split, results[split]) for split in reversed(Split) if split in results]
    return "\n".join(parts)


def _identities(split: Split, result: SplitResult) -> str:
    rows = [
        f"<tr><td>{escape(identity.name)}</td>"
        + "".join(_number(_text(identity.cells.get(name), 2)) for name in CELL_NAMES)
        + "</tr>"
        for identity in result.identities
    ]
    caption = f"On the {split} rows, score {result.score}"
    return _table(["Identity", *CELL_NAMES.values()], rows, caption=caption)


def _metric(found: FinalResults) -> str:
    metric = found.rules.metric
    facts = {
        "Scoring version": str(found.scoring_version),
        "Identities": ", ".join(found.rules.identities),
        "Power": f"{metric.power:g}",
        "Weights": ", ".join(f"{name} {weight:g}" for name, weight in metric.weights.as_dict().items()),
        "Thresholds": f"label {metric.label_threshold:g}, identity {metric.identity_threshold:g}",
        "Rows": ", ".join(f"{split} {count:,}" for split, count in found.rows.items()),
        "Metric code version": found.metric_code_version,
        "Solution": f"number {found.solution_number}, commitment {found.commitment}",
    }
    lines = [f"<dt>{name}</dt><dd><code>{escape(value)}</code></dd>" for name, value in facts.items()]
    return "<h2>Metric</h2>\n<dl>" + "\n".join(lines) + "</dl>"


def _table(heads: list[str], rows: list[str], *, caption: str = "") -> str:
    words = ("Team", "Identity")
    head = "".join(f'<th scope="col"{"" if name in words else " class=n"}>{name}</th>' for name in heads)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(rows)
    table = f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _number(value: object) -> str:
    return f'<td class="n">{value}</td>'


def _text(value: float | None, decimals: int) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def _moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
