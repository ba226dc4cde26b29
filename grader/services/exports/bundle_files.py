"""Text files inside the results bundle: README, standings CSV, LaTeX table, hashes, citation."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from grader.models import Split
from grader.services.exports.bundle import BoardLine, FinalResults
from grader.services.exports.bundle_page import printable
from grader.services.leaderboards.lines import TERMS
from grader.services.leaderboards.submission_results import IdentityRow
from grader.text import csv_lines

CELLS = ("subgroup_auc", "bpsn_auc", "bnsp_auc", "positive_aeg", "negative_aeg")
HEADINGS = ("Subgroup AUC", "BPSN AUC", "BNSP AUC", "Positive AEG", "Negative AEG")
LATEX_TEAMS = 10

README = """\
Results of {title}: final standings {number}, made final on {date} UTC.

results.html              everything to read and print
boards/                   both leaderboards as CSV and JSON; the private one is the final one
identities/               the AUCs and AEGs of each identity of the submissions that counted, on both splits:
                          CSV has all teams, LaTeX the first {latex_teams} (packages booktabs and longtable)
metric.md, metric.json    what was computed, with which settings and which version of the code
hashes.csv                the sha256 of every file that counted, and the commitment to the solution
CITATION.cff              how to cite this
SHA256SUMS                of all these files: sha256sum -c SHA256SUMS
{more}
Scores have 5 decimals, terms 4 and the cells of the tables 2, as the pages show them.
"""
WITH_SOLUTION = """\
solution.csv              the solution in its canonical form
solution-nonce.txt        the nonce: the sha256 of its bytes and solution.csv after them is the commitment
receipts/                 the exact counts of every score: `fairboard verify receipts/N.json
                          --solution solution.csv --submission FILE` recomputes one
"""
WITH_CANARIES = """\
solution-canaries.csv     the canary rows, which entered no score: their labels were altered to find files
                          made of a leak; with the true labels. The sha256 of this list is the nonce
"""


def texts(found: FinalResults, *, address: str) -> dict[str, str]:
    """Return the files of a bundle by name, without the solution; `address` is the competition's page."""
    files = {
        "README.txt": _readme(found),
        "results.html": printable(found, address=address),
        "metric.md": _metric_text(found),
        "metric.json": _json(_metric(found)),
        "hashes.csv": _hashes(found),
        "CITATION.cff": _citation(found, address),
    }
    for split in Split:
        files[f"boards/{split}.csv"] = _board_csv(found.boards[split], is_private=split is Split.PRIVATE)
        files[f"boards/{split}.json"] = _json(_board(found, split))
        files[f"identities/{split}.csv"] = csv_lines(_identity_rows(found, split))
        files[f"identities/{split}.tex"] = _latex_table(found, split)
    if found.nonce is not None:
        files["solution-nonce.txt"] = f"{found.nonce}\n"
    if found.canaries is not None:
        files["solution-canaries.csv"] = found.canaries
    for receipt in found.receipts:
        files[f"receipts/{receipt.submission}.json"] = receipt.to_json()
    return files


def _readme(found: FinalResults) -> str:
    return README.format(
        title=found.title,
        number=found.number,
        date=_day(found.finalized_at),
        latex_teams=LATEX_TEAMS,
        more=(WITH_SOLUTION if found.receipts else "") + (WITH_CANARIES if found.canaries else ""),
    )


def _board_csv(lines: tuple[BoardLine, ...], *, is_private: bool) -> str:
    header = ["rank", "team", "members", "score", *TERMS, "submission", "sha256"]
    rows = [
        [
            line.rank,
            line.team,
            "; ".join(line.members),
            line.score,
            *(_cell(line.terms.get(term), 4) for term in TERMS),
            line.submission_id,
            line.sha256,
            *([line.public_rank] if is_private else []),
        ]
        for line in lines
    ]
    return csv_lines([[*header, *(["public_rank"] if is_private else [])], *rows])


def _board(found: FinalResults, split: Split) -> dict[str, Any]:
    return {
        "competition": found.slug,
        "split": split.value,
        "final_standings": found.number,
        "finalized_at": found.finalized_at.isoformat(),
        "scoring_version": found.scoring_version,
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
            for line in found.boards[split]
        ],
    }


def _tables(found: FinalResults, split: Split) -> Iterator[tuple[BoardLine, IdentityRow]]:
    for line in found.boards[Split.PRIVATE]:
        result = found.results[line.submission_id].get(split)
        for identity in result.identities if result else ():
            yield line, identity


def _identity_rows(found: FinalResults, split: Split) -> Iterator[list[object]]:
    yield ["rank", "team", "submission", "identity", *CELLS]
    for line, identity in _tables(found, split):
        cells = [_cell(identity.cells.get(name), 2) for name in CELLS]
        yield [line.rank, line.team, line.submission_id, identity.name, *cells]


def _latex_table(found: FinalResults, split: Split) -> str:
    lines = [
        f"% {latex(found.title)}: the {split} rows, final standings {found.number}.",
        r"% \usepackage{booktabs,longtable}",
        r"\begin{longtable}{rll" + "r" * len(CELLS) + "}",
        r"\toprule",
        " & ".join(["Rank", "Team", "Identity", *HEADINGS]) + r" \\",
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endfoot",
    ]
    last = None
    for line, identity in _tables(found, split):
        if line.rank > LATEX_TEAMS:
            break
        begins = line.rank != last
        who = [str(line.rank), latex(line.team)] if begins else ["", ""]
        cells = [_signed(identity.cells.get(name)) for name in CELLS]
        lines += [r"\midrule"] if begins and last is not None else []
        last = line.rank
        lines.append(" & ".join([*who, latex(identity.name), *cells]) + r" \\")
    return "\n".join([*lines, r"\end{longtable}", ""])


def _signed(value: float | None) -> str:
    return "--" if value is None else f"${value:.2f}$" if value < 0 else f"{value:.2f}"


def latex(text: str) -> str:
    """Return a text with every character that LaTeX takes for a command written out."""
    marks = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    marks |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    marks |= {mark: "\\" + mark for mark in "&%$#_{}"}
    return "".join(marks.get(char, char) for char in text)


def _metric(found: FinalResults) -> dict[str, Any]:
    return {
        "metric": "Jigsaw unintended bias: overall AUC and power means of Subgroup, BPSN and BNSP AUC",
        "metric_code_version": found.metric_code_version,
        "fairboard": version("fairboard"),
        "scoring_version": found.scoring_version,
        "solution": {"number": found.solution_number, "commitment": found.commitment},
        "rows": {split.value: count for split, count in found.rows.items()},
        "settings": found.rules.as_dict(),
    }


def _metric_text(found: FinalResults) -> str:
    metric = found.rules.metric
    weights = ", ".join(f"{name} {weight:g}" for name, weight in metric.weights.as_dict().items())
    return (
        f"# The metric of {found.title}\n\n"
        + (f"{found.evaluation.strip()}\n\n" if found.evaluation.strip() else "")
        + "The score is the weighted sum of four terms: the overall ROC AUC, and for each of Subgroup, BPSN "
        "and BNSP AUC\nthe power mean over the identities,\n\n"
        "    M_p(m) = ((m_1^p + … + m_N^p) / N)^(1/p).\n\n"
        "Subgroup AUC: positive against negative rows that mention the identity. BPSN AUC: positive rows "
        "that do not mention\nit against negative rows that do. BNSP AUC: positive rows that mention it "
        "against negative rows that do not. Ties\ncount one half. Each split is scored on its own rows.\n\n"
        f"- Power p: {metric.power:g}\n"
        f"- Weights: {weights}\n"
        f"- A label is positive at a value >= {metric.label_threshold:g}; a row mentions an identity at "
        f">= {metric.identity_threshold:g}, a blank does not\n"
        f"- An undefined AUC: {metric.undefined}\n"
        f"- Identities (N = {len(found.rules.identities)}): {', '.join(found.rules.identities)}\n"
        f"- Rows: {', '.join(f'{split} {count:,}' for split, count in found.rows.items())}\n"
        f"- Scoring version {found.scoring_version}, solution {found.solution_number} "
        f"(commitment {found.commitment})\n"
        f"- Metric code version {found.metric_code_version}, Fairboard {version('fairboard')}\n\n"
        "Pairs are counted exactly, divided once and combined with 40 digits: the same bits on any machine.\n"
    )


def _hashes(found: FinalResults) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["what", "number", "sha256"])
    writer.writerow(["commitment to the solution", found.solution_number, found.commitment])
    files = {line.submission_id: line.sha256 for split in Split for line in found.boards[split]}
    writer.writerows(["submission", number, sha256] for number, sha256 in sorted(files.items()))
    return text.getvalue()


def _citation(found: FinalResults, address: str) -> str:
    """Return a CITATION.cff (1.2.0); texts are written as JSON strings, which YAML reads alike."""
    names = found.organizers or (f"Organizers of {found.title}",)
    said = f"Final standings {found.number} of {found.title}"
    lines = [
        "cff-version: 1.2.0",
        f"message: {_yaml('If you use these results, please cite them as below.')}",
        "type: dataset",
        f"title: {_yaml(f'{found.title}: final results')}",
        "authors:",
        *(f"  - name: {_yaml(name)}" for name in names),
        f"version: {_yaml(str(found.number))}",
        f"date-released: {_day(found.finalized_at)}",
        f"url: {_yaml(address)}",
        f"abstract: {_yaml(f'{said}, scoring version {found.scoring_version}.')}",
        "references:",
        "  - type: conference-paper",
        f"    title: {_yaml(BORKAN_TITLE)}",
        "    authors:",
        *(f"      - family-names: {last}\n        given-names: {first}" for first, last in BORKAN_AUTHORS),
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
    return "" if value is None else f"{value:.{decimals}f}"


def _day(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d}"
