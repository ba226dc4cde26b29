"""Participants' commands: submit, check, submissions, leaderboard, team, download, mcp."""

from pathlib import Path

import click

from grader.cli.client.connection import competition_option, connected, connection_options
from grader.cli.group import REJECTED, SITE, lacking
from grader.cli.output import TERMS, left, number_text, progress, say, score_text, show_findings, show_json
from grader.cli.parameters import INPUT_FILE, LocalPath
from grader.client import Client
from grader.client.records import Json, Record, Submission
from grader.text import aligned, listed, megabytes

FAILED = 1
ROWS = 50
REASONS = {
    "picked": "selected",
    "picked_waiting": "selected, not scored yet",
    "automatic": "chosen automatically",
}


@click.command()
@click.argument("file", type=INPUT_FILE)
@competition_option
@click.option(
    "-d", "--description", default="", help="A description for your team, such as what changed in this file."
)
@click.option(
    "--again", is_flag=True, help="Submit the file even if your team has already submitted an identical file."
)
@click.option(
    "--key", help="An Idempotency-Key: calls with the same key and file create only one submission."
)
@click.option("--no-wait", is_flag=True, help="Do not wait for the score.")
@click.option(
    "--timeout",
    type=click.FloatRange(0),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="The maximum time to wait for the score.",
)
@connection_options
def submit(
    file: Path,
    competition: str | None,
    description: str,
    again: bool,
    key: str | None,
    no_wait: bool,
    timeout: float,
    site: str | None,
    as_json: bool,
) -> None:
    """Submit FILE (id,prediction), wait for its score, and print score, rank and limits.

    \b
    fairboard submit predictions.csv -c demo -d "word n-grams"

    FILE is a CSV file, optionally compressed with gzip or zip, or - for standard input. The exit code is 0 if
    the submission is scored, 2 if it is rejected, 3 if the server denies the request (limit, deadline or
    token), 4 if it is not scored within the timeout, 5 if the server is unreachable, and 1 for any other
    error. After a lost connection, the upload is retried without creating a second submission.
    """
    with connected(site, as_json=as_json, competition=competition) as client:
        with progress(f"Sending {file.name}") as on_progress:
            sent = client.submit(
                file,
                competition=competition,
                description=description,
                again=again,
                key=key,
                on_progress=on_progress,
            )
        click.echo(f"{client.server} accepted submission #{sent.id}.", err=True)
        if no_wait:
            _show(sent, None, None, as_json=as_json)
            return
        done = client.wait(sent, timeout_seconds=timeout)
        membership = client.team(competition)
        _show(done, membership, _own_row(client, competition, membership), as_json=as_json)
    if done.status != "scored":
        raise click.exceptions.Exit(REJECTED if done.status == "rejected" else FAILED)


@click.command()
@click.argument("file", type=INPUT_FILE)
@competition_option
@connection_options
def check(file: Path, competition: str | None, site: str | None, as_json: bool) -> None:
    """Check FILE on the server and print all its problems, without using a submission.

    The exit code is 2 if FILE would be rejected.
    """
    with connected(site, as_json=as_json, competition=competition) as client:
        with progress(f"Sending {file.name}") as on_progress:
            checked = client.check(file, on_progress=on_progress)
        if as_json:
            show_json(checked)
        else:
            if checked.is_clean:
                click.echo(f"{file.name} can be scored. {left(checked.limits)}")
            else:
                click.echo(f"{file.name} would be rejected:", err=True)
            show_findings(checked.problems, checked.notes)
    if not checked.is_clean:
        raise click.exceptions.Exit(REJECTED)


def _own_row(client: Client, competition: str | None, membership: Record) -> Record | None:
    team = membership.team
    return client.own_row(competition, team=team.name) if team else None


def _show(done: Submission, membership: Record | None, row: Record | None, *, as_json: bool) -> None:
    limits = membership.limits if membership else done.get("limits")
    if as_json:
        show_json({"submission": done, "rank": row.rank if row else None, "limits": limits})
        return
    match done.status:
        case "scored":
            best = ""
            if row is not None and row.rank is not None:
                best = f" Your team has rank {row.rank:,} with {score_text(row.score)}."
            score = "scored; the competition does not show the score yet."
            if done.public_score is not None:
                score = f"score {score_text(done.public_score)}."
            weakest = ""
            if done.weakest_term is not None and done.terms is not None:
                name, value = TERMS.get(done.weakest_term, done.weakest_term), done.terms[done.weakest_term]
                weakest = f" Weakest term: {name}, {number_text(value, 4)}."
            say(f"Submission #{done.id}: {score}{best}{weakest}")
        case "rejected":
            click.echo(f"Submission #{done.id} is rejected:", err=True)
        case "failed" if done.problems:
            click.echo(f"Submission #{done.id} failed and counts:", err=True)
        case "failed":
            click.echo(
                f"Submission #{done.id} failed because of an error on the server (incident {done.incident}).",
                err=True,
            )
        case _:
            click.echo(f"Submission #{done.id} is {done.status}.")
    show_findings(done.get("problems") or (), done.get("notes") or ())
    if limits:
        click.echo(left(Record(limits)))


@click.command()
@competition_option
@connection_options
def submissions(competition: str | None, site: str | None, as_json: bool) -> None:
    """List your team's submissions, newest first; * marks the ones that currently count."""
    with connected(site, as_json=as_json, competition=competition) as client:
        submissions = client.submissions()
    if as_json:
        show_json(submissions)
        return
    counts = {each["submission"] for each in (submissions.selection or {}).get("counts", ())}
    lines = [["", "id", "sent (UTC)", "status", "score", "file", "description"]]
    for each in submissions.submissions:
        mark = "*" if each.id in counts else ""
        sent = f"{each.submitted_at:%Y-%m-%d %H:%M}" if each.submitted_at else ""
        row = [each.status, score_text(each.public_score), each.file_name or "", each.description or ""]
        lines.append([mark, str(each.id), sent, *row])
    say("\n".join(aligned(lines, numbers=False)))
    click.echo(left(submissions.limits))


@click.command()
@click.argument("submission_id", metavar="ID", type=click.IntRange(1))
@click.option("--file", "path", type=LocalPath(dir_okay=False), help="Path to download the file to.")
@connection_options
def submission(submission_id: int, path: Path | None, site: str | None, as_json: bool) -> None:
    """Show the status, scores, terms, identities or groups, and problems of your team's submission ID."""
    with connected(site, as_json=as_json) as client:
        scored = client.submission(submission_id)
        if path is not None:
            with progress(f"Downloading {path.name}") as on_progress:
                client.submission_file(scored, path, on_progress=on_progress)
    if as_json:
        show_json(scored)
        return
    click.echo(f"Submission #{scored.id} of {scored.competition}: {scored.status}")
    if scored.description:
        say(scored.description)
    _show_scores(scored)
    show_findings(scored.problems or (), scored.notes or ())


@click.command()
@click.argument("submission_id", metavar="ID", type=click.IntRange(1))
@click.option("--off", is_flag=True, help="Deselect the submission.")
@click.option("--instead-of", metavar="ID", type=click.IntRange(1), help="A selected submission to deselect.")
@connection_options
def select(submission_id: int, off: bool, instead_of: int | None, site: str | None, as_json: bool) -> None:
    """Select submission ID for the private leaderboard, or deselect it with --off."""
    with connected(site, as_json=as_json) as client:
        answer = client.select(submission_id, selected=not off, instead_of=instead_of)
    if as_json:
        show_json(answer)
        return
    click.echo(f"Submission #{submission_id} is {'selected' if answer['is_selected'] else 'not selected'}.")
    show_selection(answer["selection"])


def show_selection(selection: Json | None) -> None:
    """Print the submissions that currently count, with the reasons."""
    for each in (selection or {}).get("counts", ()):
        click.echo(f"#{each['submission']} counts: {REASONS.get(each['reason'], each['reason'])}.")
    if later := (selection or {}).get("filled_later"):
        click.echo(
            f"Unused selections: {later}. After the close, they go to the submissions with the best exact "
            "public scores."
        )


def _show_scores(submission: Submission) -> None:
    for split, prefix in (("public", ""), ("private", "private_")):
        score = submission.get(f"{split}_score")
        terms, table, groups = (
            submission.get(f"{prefix}{name}") for name in ("terms", "identities", "groups")
        )
        if score is None:
            continue
        click.echo(f"\n{split} score {score_text(score)}")
        for name, value in (terms or {}).items():
            click.echo(f"  {TERMS.get(name, name)} {number_text(value, 4)}")
        if table:
            columns = [name for name in table[0] if name != "name"]
            lines = [["identity", *(TERMS.get(name, name.replace("_", " ")) for name in columns)]]
            lines += [[row["name"], *(_cell(row[name]) for name in columns)] for row in table]
            say("\n".join(aligned(lines)))
        for each in groups or ():
            lines = [[each["column"], "rows", "value", "behind the best"]]
            for row in each["groups"]:
                values = [f"{row[name]:g}" for name in ("score", "loss")]
                lines.append([row["name"], f"{row['rows']:,}", *values])
            say("\n".join([*aligned(lines), f"Worst: {each['worst']}, {each['gap']:g} from the best."]))


def _cell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4f}"


@click.command()
@competition_option
@click.option("--private", is_flag=True, help="Show the private leaderboard (available after the reveal).")
@click.option("--search", help="Show only teams whose name contains this text.")
@click.option("--division", help="Show only this division, with the ranks inside it.")
@click.option(
    "--rows",
    type=click.IntRange(1, 10**6),
    default=ROWS,
    show_default=True,
    help="The number of rows to show.",
)
@click.option("--all", "is_whole", is_flag=True, help="Show all rows.")
@connection_options
def leaderboard(
    competition: str | None,
    private: bool,
    search: str | None,
    division: str | None,
    rows: int,
    is_whole: bool,
    site: str | None,
    as_json: bool,
) -> None:
    """Print the leaderboard; if your row is not included, it is added at the end."""
    with connected(site, as_json=as_json, competition=competition) as client:
        board = client.leaderboard(
            split="private" if private else "public",
            search=search,
            division=division,
            most=None if is_whole else rows,
        )
    if as_json:
        show_json(board)
        return
    if search is not None and not board.rows:
        click.echo(f"No team name contains {search!r}.", err=True)
        return
    terms = list(board.rows[0].terms or {}) if board.rows else []
    lines = [["rank", "team", "score", *(TERMS.get(name, name) for name in terms), "entries"]]
    own = [board.own] if board.own and search is None and board.own not in board.rows else []
    shown = [*board.rows, *own]
    lines += [_line(row, terms) for row in shown]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    say("\n".join(aligned([[line[0], line[1].ljust(widths[1]), *line[2:]] for line in lines])))


def _line(row: Record, terms: list[str]) -> list[str]:
    values = [number_text(row.terms[name], 4) if row.terms and name in row.terms else "" for name in terms]
    rank = "" if row.rank is None else str(row.rank)
    return [rank, row.team, score_text(row.score), *values, str(row.entries)]


@click.command()
@competition_option
@click.option("--join", is_flag=True, help="Join the competition first.")
@click.option(
    "--accept-rules",
    type=click.IntRange(1),
    metavar="VERSION",
    help="The version of the rules that you have read and accept.",
)
@click.option("--code", help="The entry code, if the competition requires one.")
@connection_options
def team(
    competition: str | None,
    join: bool,
    accept_rules: int | None,
    code: str | None,
    site: str | None,
    as_json: bool,
) -> None:
    """Show your entry, team, remaining submissions and selection in a competition."""
    with connected(site, as_json=as_json, competition=competition) as client:
        if join or accept_rules is not None or code is not None:
            client.join(accepted_rules_version=accept_rules, code=code)
        own_team = client.team()
    if as_json:
        show_json(own_team)
        return
    click.echo(f"Entry: {own_team.entry.replace('_', ' ')}.")
    if own_team.team:
        say(f"Team {own_team.team.name}: {listed(own_team.team.members, most=20)}.")
    click.echo(left(own_team.limits))
    show_selection(own_team.selection)


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@competition_option
@click.option(
    "--to",
    "folder",
    type=LocalPath(file_okay=False),
    help="The folder to download to, created if it does not exist; by default, ./SLUG.",
)
@click.option("--force", is_flag=True, help="Replace local files that differ from those on the server.")
@click.option("--list", "is_list", is_flag=True, help="List the files without downloading them.")
@connection_options
def download(
    names: tuple[str, ...],
    competition: str | None,
    folder: Path | None,
    force: bool,
    is_list: bool,
    site: str | None,
    as_json: bool,
) -> None:
    """Download the data files NAME of a competition, by default all files.

    Interrupted downloads are resumed, and files that are up to date are skipped. A different local file with
    the same name is replaced only with --force.
    """
    with connected(site, as_json=as_json, competition=competition) as client:
        files = [] if names and not is_list else client.data_files()
        paths: list[str] = []
        for name in () if is_list else names or [each.name for each in files]:
            with progress(name) as on_progress:
                paths.append(str(client.download(name, folder, replace=force, on_progress=on_progress)))
            if not as_json:
                click.echo(paths[-1])
    if as_json:
        show_json({"files": files} if is_list else {"paths": paths})
    elif is_list:
        say("\n".join(aligned([[each.name, megabytes(each.size_bytes or 0)] for each in files])))


@click.command()
@click.argument("folder", type=LocalPath(exists=True, file_okay=False))
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
    try:
        from grader.mcp import WorkFolder, server
    except ModuleNotFoundError as error:
        raise lacking(error, "mcp", "mcp") from error

    with connected(site, as_json=False, competition=competition) as client:
        server(client, WorkFolder(folder)).run()
