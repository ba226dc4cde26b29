"""`fairboard bakeoff`: a comparison of candidate models on a community's own comments."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.group import DISAPPROVED
from grader.cli.metric.solution_roles import read_with_roles, role_option, warn
from grader.cli.output import show_json
from grader.cli.parameters import (
    INPUT_FILE,
    LONGEST_NAME,
    OUTPUT_FILE,
    Finite,
    csv_of,
    evaluation_command,
    metric_settings,
    text_of,
)
from grader.text import one_line

if TYPE_CHECKING:
    from grader.files import RowIds, Solution

TEXT_COLUMNS = ("comment_text", "comment", "text")
COST = Finite(0, 1e9, min_open=True)


@evaluation_command
@click.argument("comments", type=INPUT_FILE)
@click.argument("candidates", type=INPUT_FILE, nargs=-1, required=True)
@click.option("--html", type=OUTPUT_FILE, help="HTML file to write the report to.")
@click.option("--model-card", "card", type=OUTPUT_FILE, help="File for the model card of the best candidate.")
@role_option
@click.option("--text", help=f"The column with the comments.  [default: {' or '.join(TEXT_COLUMNS)}]")
@click.option("--terms", type=INPUT_FILE, help="File with lines NAME=term,term; they replace columns NAME.")
@click.option("--identity", "named", multiple=True, metavar="NAME=term,term", help="One such line.")
@click.option("--min-size", type=click.IntRange(1), default=1, help="Omit identities with fewer rows.")
@click.option("--cost-false-alarm", type=COST, default=1.0, help="Cost of a false alarm.")
@click.option("--cost-missed", type=COST, default=1.0, help="Cost of a missed comment.")
@click.option(
    "--harmful-share",
    type=Finite(0, 1, min_open=True, max_open=True),
    help="Share of harmful comments on your site.  [default: as in COMMENTS]",
)
def bakeoff(comments: Path, candidates: tuple[Path, ...], **options: Any) -> None:
    """Compare CANDIDATES (id,prediction) on COMMENTS (id, label, identities or texts).

    \b
    fairboard bakeoff comments.csv a.csv b.csv c.csv --html report.html
    fairboard bakeoff comments.csv a.csv --identity "muslim=muslim,muslims,islam"

    The exit code is 0 if one candidate is recommended, 6 if none can be recommended, 2 if a file is rejected
    and 1 for any other error. A single candidate is reported without a comparison.
    """
    from grader.reports import Material, bakeoff_report, html_page, measure_candidates, plain_text
    from grader.reports.model_card import model_card

    solution = _solution(csv_of(comments), _term_lists(options["terms"], options["named"]), options)
    inputs = Material(
        solution,
        predictions=_predictions(candidates, solution.row_ids),
        settings=metric_settings(options["power"], options["weights"], options["threshold"], "skip"),
        minimum_size=options["min_size"],
    )
    try:
        costs = options["cost_false_alarm"], options["cost_missed"]
        measured = measure_candidates(inputs, costs, options["harmful_share"])
        report = bakeoff_report(measured)
        card = model_card(measured, one_line(comments.name, LONGEST_NAME))
        for path, content in ((options["html"], html_page(report)), (options["card"], card)):
            if path is not None:
                path.write_text(content, encoding="utf-8")
                click.echo(f"Written: {path}", err=True)
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if options["as_json"]:
        show_json(report.as_dict())
    else:
        click.echo(plain_text(report) if options["html"] is None else "\n".join(measured.sentences()))
    if measured.pairs and measured.recommended is None:
        raise click.exceptions.Exit(DISAPPROVED)


def _term_lists(path: Path | None, named: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the terms of each identity from a file and from options."""
    lines = [*(text_of(path).splitlines() if path else ()), *named]
    lists: dict[str, list[str]] = {}
    problems = []
    for line in filter(str.strip, lines):
        name, *terms = (part.strip() for part in line.replace("=", ",", 1).split(","))
        if "=" not in line or name in lists or not all([name, *terms]):
            problems.append(f"{line!r} must be NAME=term,term with a new NAME.")
        lists[name] = terms
    if problems:
        raise click.UsageError(" ".join(problems))
    return lists


def _solution(path: Path, terms: dict[str, list[str]], options: dict[str, Any]) -> "Solution":
    """Read the comments; add an identity for each list of terms."""
    from grader.files import ColumnRole, guess_columns
    from grader.metrics.bias.inputs import identities_from_text

    roles, text = dict(options["roles"]), options["text"]
    if terms:
        columns = [each.name for each in guess_columns(path)]
        text = text or next((name for name in TEXT_COLUMNS if name in columns), None)
        if text not in columns:
            raise click.UsageError(f"Choose the column with the comments: --text {' | '.join(columns)}.")
        roles[text] = ColumnRole.SLICE
    names = {name: options[name] for name in ("label", "identities")}
    solution = read_with_roles(path, roles, only_these=True, **names)
    warn(solution.roles, solution.near_misses)
    if not (terms or solution.identities):
        raise click.UsageError(f"{path.name} has no identity columns. Use --terms or --identity.")
    masks = identities_from_text(solution.slices[text].texts(), terms) if terms else {}
    return replace(solution, identities=solution.identities | {n: m.astype(float) for n, m in masks.items()})


def _predictions(paths: tuple[Path, ...], row_ids: "RowIds") -> dict[str, Any]:
    """Read all candidates, named after their files; raise FileRejected with the problems of all files.

    Candidates whose files have the same name are named after their paths.
    """
    from grader.files import FileRejected, read_submission

    if twice := [str(path) for path in dict.fromkeys(paths) if paths.count(path) > 1]:
        raise click.UsageError(f"These candidates are specified more than once: {', '.join(twice)}.")
    short = [path.name.partition(".csv")[0].removesuffix(".parquet") for path in paths]
    names = [name if short.count(name) == 1 else str(path) for name, path in zip(short, paths, strict=True)]
    predictions, problems = {}, []
    for path, name in zip(paths, names, strict=True):
        try:
            read = read_submission(csv_of(path), row_ids)
        except FileRejected as error:
            problems += [replace(each, message=f"{path}: {each.message}") for each in error.problems]
            continue
        predictions[one_line(name, LONGEST_NAME)] = read.predictions
        for note in read.notes:
            click.echo(f"Note on {path}: {note.message}", err=True)
    if problems:
        raise FileRejected("submission", problems)
    return predictions
