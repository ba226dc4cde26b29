"""Participants' commands: submit, check, submissions, leaderboard, team, download, mcp."""

from pathlib import Path

import click

from grader.cli.client.connection import (
    competition_option,
    connected,
    exit_codes,
    participants,
)
from grader.cli.group import REJECTED, SITE
from grader.cli.output import TERMS, CommandOutput, left, number_text, progress, table_of
from grader.cli.parameters import FOLDER, INPUT_FILE, OUTPUT_FILE
from grader.client import Client, Refused
from grader.client.records import ApiRecord, Json, Submission
from grader.text import listed

FAILED = 1
SUBMISSION = click.argument("submission_id", metavar="ID", type=click.IntRange(1))


@click.command()
@click.argument("file", type=INPUT_FILE)
@click.option("-d", "--description", default="", help="A description for your team.")
@click.option("--again", is_flag=True, help="Submit a file that is identical to an earlier one.")
@click.option("--no-wait", is_flag=True, help="Do not wait for the score.")
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="The maximum time to wait for the score.",
)
@competition_option
@participants
def submit(
    client: Client, file: Path, description: str, again: bool, no_wait: bool, timeout: float
) -> CommandOutput:
    """Submit FILE (id,prediction), wait for its score, and print score, rank and limits.

    \b
    fairboard submit predictions.csv -c demo -d "word n-grams"

    FILE is a CSV file, optionally compressed with gzip or zip, or - for standard input. The exit code is 0 if
    the submission is scored, 2 if it is rejected, 3 if the server denies the request (limit, deadline or
    token), 4 if it is not scored within the timeout, 5 if the server is unreachable, and 1 for any other
    error. After a lost connection, the upload is retried without creating a second submission.
    """
    try:
        sent = client.submit(file, description=description, again=again)
    except Refused as error:
        if error.name == "identical_file":
            error.message += " To submit it anyway, use --again."
        raise
    click.echo(f"{client.server} accepted submission #{sent.id}.", err=True)
    if no_wait:
        return _outcome(sent, sent.limits, None)
    done = client.wait(sent, timeout_seconds=timeout)
    membership = client.team()
    team = membership.team
    return _outcome(done, membership.limits, client.own_row(team=team.name) if team else None)


def _outcome(done: Submission, limits: ApiRecord, row: ApiRecord | None) -> CommandOutput:
    heading, code = f"Submission #{done.id} is {done.status}.", 0
    problems, notes = _findings(done)
    match done.status:
        case "scored":
            heading = f"Submission #{done.id}: scored; the competition does not show the score yet."
            if done.public_score is not None:
                heading = f"Submission #{done.id}: score {number_text(done.public_score)}."
            if row is not None and row.rank is not None:
                heading += f" Your team has rank {row.rank:,} with {number_text(row.score)}."
            if done.weakest_term is not None and done.terms is not None:
                name, value = TERMS.get(done.weakest_term, done.weakest_term), done.terms[done.weakest_term]
                heading += f" Weakest term: {name}, {number_text(value, 4)}."
        case "rejected":
            heading, code = f"Submission #{done.id} is rejected:", REJECTED
        case "failed":
            reason = "and counts:" if problems else f"because of an error on the server ({done.incident})."
            heading, code = f"Submission #{done.id} failed {reason}", FAILED
    answer = {"submission": done, "rank": row.rank if row else None, "limits": limits}
    lines, errors = ([], [heading]) if code else ([heading], [])
    return CommandOutput(answer, [*lines, *notes, left(limits)], [*errors, *problems], code)


def _findings(checked: ApiRecord) -> tuple[list[str], list[str]]:
    """Return the problems of a file and the notes on it as lines."""
    problems, notes = checked.get("problems") or (), checked.get("notes") or ()
    return [f"- {each['message']}" for each in problems], [f"Note: {each['message']}" for each in notes]


@click.command()
@click.argument("file", type=INPUT_FILE)
@competition_option
@participants
def check(client: Client, file: Path) -> CommandOutput:
    """Check FILE on the server and print all its problems, without using a submission.

    The exit code is 2 if FILE would be rejected.
    """
    checked = client.check(file)
    problems, notes = _findings(checked)
    if not checked.is_clean:
        return CommandOutput(checked, notes, [f"{file.name} would be rejected:", *problems], REJECTED)
    return CommandOutput(checked, [f"{file.name} can be scored. {left(checked.limits)}", *notes])


@click.command()
@competition_option
@participants
def submissions(client: Client) -> CommandOutput:
    """List your team's submissions, newest first."""
    submissions = client.submissions()
    counts = {each["submission"] for each in (submissions.selection or {}).get("counts", ())}
    rows = [{**each, "counts": each["id"] in counts} for each in submissions["submissions"]]
    names = ("counts", "id", "submitted_at", "status", "public_score", "file_name", "description")
    return CommandOutput(submissions, [*table_of(rows, names), left(submissions.limits)])


@click.command()
@SUBMISSION
@click.option("--file", "path", type=OUTPUT_FILE, help="Path to download the file to.")
@participants
def submission(client: Client, submission_id: int, path: Path | None) -> CommandOutput:
    """Show the status, scores, terms, identities or groups, and problems of your team's submission ID."""
    scored = client.submission(submission_id)
    if path is not None:
        with progress(f"Downloading {path.name}") as on_progress:
            client.submission_file(scored, path, on_progress=on_progress)
    lines = [f"Submission #{scored.id} of {scored.competition}: {scored.status}"]
    lines += [scored.description] if scored.description else []
    for split, prefix in (("public", ""), ("private", "private_")):
        if (score := scored.get(f"{split}_score")) is not None:
            lines += [f"\n{split} score {number_text(score)}", *_breakdown(scored, prefix)]
    problems, notes = _findings(scored)
    return CommandOutput(scored, [*lines, *notes], problems)


def _breakdown(submission: Submission, prefix: str) -> list[str]:
    """Return the terms, identities and groups of a score as lines."""
    terms, table, groups = (submission.get(f"{prefix}{name}") for name in ("terms", "identities", "groups"))
    lines = [f"  {TERMS.get(name, name)} {number_text(value, 4)}" for name, value in (terms or {}).items()]
    if table:
        lines += table_of(table, table[0])
    for each in groups or ():
        lines += table_of(each["groups"], ("name", "rows", "score", "loss"))
        lines.append(f"Worst {each['column']}: {each['worst']}, {each['gap']:g} from the best.")
    return lines


@click.command()
@SUBMISSION
@click.option("--off", is_flag=True, help="Deselect the submission.")
@participants
def select(client: Client, submission_id: int, off: bool) -> CommandOutput:
    """Select submission ID for the private leaderboard, or deselect it with --off."""
    answer = client.select(submission_id, selected=not off)
    line = f"Submission #{submission_id} is {'selected' if answer['is_selected'] else 'not selected'}."
    return CommandOutput(answer, [line, *_selection(answer["selection"])])


def _selection(selection: Json | None) -> list[str]:
    """Return the submissions that currently count, and the number of unused selections, as lines."""
    if selection is None:
        return []
    numbers = [f"#{each['submission']}" for each in selection["counts"]]
    lines = [f"Submissions that count: {', '.join(numbers) or 'none'}."]
    if later := selection["filled_later"]:
        lines.append(
            f"Unused selections: {later}. After the close, they go to the submissions with the best exact "
            "public scores."
        )
    return lines


@click.command()
@click.option("--private", is_flag=True, help="Show the private leaderboard (available after the reveal).")
@click.option("--search", help="Show only teams whose name contains this text.")
@click.option("--division", help="Show only this division, with the ranks inside it.")
@click.option(
    "--rows",
    type=click.IntRange(1, 10**6),
    default=50,
    show_default=True,
    help="The number of rows to show.",
)
@competition_option
@participants
def leaderboard(
    client: Client, private: bool, search: str | None, division: str | None, rows: int
) -> CommandOutput:
    """Print the leaderboard; if your row is not included, it is added at the end."""
    split = "private" if private else "public"
    board = client.leaderboard(split=split, search=search, division=division, most=rows)
    if search is not None and not board.rows:
        return CommandOutput(board, [], [f"No team name contains {search!r}."])
    own = [board["own"]] if board["own"] and search is None and board["own"] not in board["rows"] else []
    records = [{**row, **(row["terms"] or {})} for row in (*board["rows"], *own)]
    terms = (records[0]["terms"] or {}) if records else ()
    return CommandOutput(board, table_of(records, ("rank", "team", "score", *terms, "entries")))


@click.command()
@click.option("--join", is_flag=True, help="Join the competition first.")
@click.option(
    "--accept-rules",
    type=click.IntRange(1),
    metavar="VERSION",
    help="The version of the rules that you have read and accept.",
)
@click.option("--code", help="The entry code, if the competition requires one.")
@competition_option
@participants
def team(client: Client, join: bool, accept_rules: int | None, code: str | None) -> CommandOutput:
    """Show your entry, team, remaining submissions and selection in a competition."""
    if join or accept_rules is not None or code is not None:
        client.join(accepted_rules_version=accept_rules, code=code)
    membership = client.team()
    lines = [f"Entry: {membership.entry.replace('_', ' ')}."]
    if membership.team:
        lines.append(f"Team {membership.team.name}: {listed(membership.team.members, most=20)}.")
    return CommandOutput(membership, [*lines, left(membership.limits), *_selection(membership.selection)])


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--to",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to download to, created if it does not exist; by default, ./SLUG.",
)
@click.option("--force", is_flag=True, help="Replace local files that differ from those on the server.")
@click.option("--list", "is_list", is_flag=True, help="List the files without downloading them.")
@competition_option
@participants
def download(
    client: Client, names: tuple[str, ...], folder: Path | None, force: bool, is_list: bool
) -> CommandOutput:
    """Download the data files NAME of a competition, by default all files.

    Interrupted downloads are resumed, and files that are up to date are skipped. A different local file with
    the same name is replaced only with --force.
    """
    files = [] if names and not is_list else client.data_files()
    if is_list:
        return CommandOutput({"files": files}, table_of(files, ("name", "size_bytes")))
    paths = []
    for name in names or [each.name for each in files]:
        with progress(name) as on_progress:
            paths.append(str(client.download(name, folder, replace=force, on_progress=on_progress)))
    return CommandOutput({"paths": paths}, paths)


@click.command()
@click.argument("folder", type=FOLDER)
@competition_option
@click.option("--site", envvar=SITE, metavar="URL", help=f"The address of the site ({SITE}).")
def mcp(folder: Path, competition: str | None, site: str | None) -> None:
    """Serve participant tools to an AI agent on standard input and output (MCP).

    \b
    {"mcpServers": {"fairboard": {"command": "fairboard", "args": ["mcp", "/home/ada/work"]}}}

    The tools read and write only files in FOLDER. The token's scopes determine which tools are available:
    submitting requires the `submit` scope. The site and token are taken from `fairboard login`, or from
    FAIRBOARD_SITE and FAIRBOARD_TOKEN.
    """
    from grader.mcp import server

    with exit_codes(as_json=False), connected(site, competition=competition) as client:
        server(client, folder).run()
