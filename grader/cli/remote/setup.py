"""`fairboard competition` over HTTP: create, settings, apply, clone, data files, publish, delete."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Any

import click

from grader.cli.competition.condition_options import condition_options, plainly_given
from grader.cli.competition.creation_options import creation_options
from grader.cli.metric.metric_options import metric_options, metric_settings
from grader.cli.parameters import Deadline, LocalPath, WeightsInAnyForm
from grader.cli.questions import is_answered_yes, yes_option
from grader.cli.remote.acts import act_over_http, plain
from grader.client import Client, Refused, Unusable
from grader.client.errors import as_problems
from grader.client.organizer import Organizer

FILE = LocalPath(exists=True, dir_okay=False)
STATES = {
    "unchecked": "not checked",
    "waiting": "waiting for its check",
    "passed": "checked",
    "held": "held back",
    "allowed": "released anyway",
}
SHOWN_SENTENCES = 6


@click.command("list")
@act_over_http
def list_all(client: Client) -> tuple[Any, str]:
    """List all competitions, newest first."""
    found = client.competitions()
    lines = [f"{each.slug}\t{each.phase}\t{_times(each)}\t{each.title}" for each in found]
    return {"competitions": [each.data for each in found]}, "\n".join(lines)


@click.command(cls=WeightsInAnyForm)
@creation_options
@condition_options
@metric_options
@act_over_http
def create(
    client: Client,
    slug: str,
    solution: Path | None,
    title: str | None,
    overview: Path | None,
    label: str | None,
    identities: tuple[str, ...] | None,
    opens_at: datetime | None,
    closes_at: datetime | None,
    power: float,
    weights: Any,
    threshold: float,
    owner: str | None,
    is_published: bool,
    **options: Any,
) -> tuple[Any, str]:
    """Create the competition SLUG, which is the last part of its address; or a draft from a file SLUG.toml.

    Without a Usage column we split the rows in half, evenly for every label and identity.
    """
    _refuse_owner(owner)
    if slug.endswith(".toml"):
        return _create_from(client, Path(slug), is_published=is_published)
    if solution is None or title is None:
        raise click.UsageError("Give a --solution and a --title, or a FILE.toml.")
    if label is not None:
        raise Unusable("Over HTTP the label is the column target, label or toxicity: leave --label out.")
    changes = {"overview": overview, "opens_at": opens_at, "closes_at": closes_at, "identities": identities}
    metric = metric_settings(power, weights, threshold).as_dict()
    given = {name: value for name, value in changes.items() if value is not None} | plainly_given(options)
    client.call("POST", "competitions", json={"slug": slug, "title": title})
    desk = client.organize(slug)
    _warn(desk.change_settings(metric=metric, **{name: plain(value) for name, value in given.items()}))
    report = _set_solution(desk, solution)
    answer = desk.publish()
    return answer, f"{report}\n\n{slug} {_times(client.competition(slug))}."


def _create_from(client: Client, path: Path, *, is_published: bool) -> tuple[Any, str]:
    if not path.is_file():
        raise click.UsageError(f"The file {path} does not exist.")
    read = read_file(path)
    slug = read.slug or path.stem
    made = client.call("POST", "competitions", json={"slug": slug, "title": read.changes.get("title", "")})
    desk, lines = client.organize(slug), [f"{slug} is a draft."]
    _warn(desk.change_settings(**read.changes))
    lines += _add_files(desk, path.parent, read)
    if is_published:
        made = desk.publish()
        lines.append(f"{slug} is published.")
    else:
        lines += _missing(slug, desk.call("GET", "state"))
    return made, "\n".join(lines)


@click.command()
@click.argument("slug")
@act_over_http
def settings(client: Client, slug: str) -> tuple[Any, str]:
    """Print the settings of SLUG as a file for `create` and `apply`."""
    desk = client.organize(slug)
    return desk.settings(), desk.text("settings.toml").rstrip("\n")


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@yes_option
@act_over_http
def apply(client: Client, slug: str, file: Path, yes: bool) -> tuple[Any, str]:
    """Change the settings of SLUG to those of FILE, and add the files it names.

    Settings that FILE does not name stay as they are. If FILE changes a setting that is fixed by now, nothing
    is changed at all.
    """
    desk = client.organize(slug)
    read = read_file(file, desk.settings()["settings"])
    if read.solution and desk.call("GET", "state")["state"] != "draft":
        raise Unusable(f"{slug} is published: to change its solution or metric, start a rescoring.")
    answer = _change(desk, read.changes, yes=yes)
    changed = sorted(read.keys[name] for name in answer["changed"])
    lines = [f"Changed: {', '.join(changed) or 'nothing'}.", *_add_files(desk, file.parent, read)]
    return answer, "\n".join(lines)


@click.command()
@click.argument("slug")
@click.argument("new_slug")
@click.option("--title", default="", help="The new title; by default the same.")
@click.option("--without-data", is_flag=True, help="Do not copy the data files.")
@click.option("--with-solution", is_flag=True, help="Also copy the live solution.")
@click.option("--owner", help="The account that owns the new draft.")
@act_over_http
def clone(
    client: Client,
    slug: str,
    new_slug: str,
    title: str,
    without_data: bool,
    with_solution: bool,
    owner: str | None,
) -> tuple[Any, str]:
    """Create a draft NEW_SLUG with the texts, limits, metric and data files of SLUG, but without dates."""
    _refuse_owner(owner)
    sent = {"slug": new_slug, "title": title, "source": slug}
    kept = {"with_data": not without_data, "with_solution": with_solution}
    made = client.call("POST", "competitions", json=sent | kept)
    missing = client.organize(new_slug).call("GET", "state")
    return made, "\n".join([f"{new_slug} is a draft.", *_missing(new_slug, missing)])


@click.command()
@click.argument("slug")
@act_over_http
def publish(client: Client, slug: str) -> tuple[Any, str]:
    """Show the draft SLUG to everybody; it opens at its time."""
    desk = client.organize(slug)
    _require_none_held(slug, desk.data())
    return desk.publish(), f"{slug} is published."


@click.command()
@click.argument("slug")
@click.option("--closes", "closes_at", type=Deadline(), help="When it closes (UTC).")
@condition_options
@yes_option
@act_over_http
def change(client: Client, slug: str, yes: bool, **options: Any) -> tuple[Any, str]:
    """Change dates, limits, entry or rules of SLUG; everything else stays as it is.

    Changed rules get a new version, which people must accept before their next submission.
    """
    changes = {name: plain(value) for name, value in plainly_given(options).items()}
    if not changes:
        raise click.UsageError("Give at least one option to change; `--help` lists them.")
    return _change(client.organize(slug), changes, yes=yes), f"Changed {slug}."


@click.command()
@click.argument("slug")
@click.confirmation_option(
    prompt=("This deletes everything stored for the draft and cannot be undone. Delete?")
)
@act_over_http
def delete(client: Client, slug: str) -> tuple[Any, str]:
    """Delete the draft SLUG with its settings, solution and data files; one without any submission."""
    return client.organize(slug).call("DELETE", confirm=True), f"{slug} is deleted."


@click.command()
@click.argument("slug")
@act_over_http
def data(client: Client, slug: str) -> tuple[Any, str]:
    """Check the data files of SLUG that need it, and show what each would disclose.

    The exit code is 1 if a file is held back.
    """
    found = client.organize(slug).data()
    lines = []
    for file in found["files"]:
        lines.append(f"{file['name']}: {STATES.get(file['state'], file['state'])}.")
        if file["state"] != "held":
            lines += [f"- {sentence}." for sentence in _told(file)]
    if any(file["state"] == "held" for file in found["files"]):
        click.echo("\n".join(lines))
        _require_none_held(slug, found)
    return found, "\n".join(lines)


@click.command("allow-data")
@click.argument("slug")
@click.argument("name")
@click.argument("words")
@click.option("--reason", default="", help="For the audit.")
@act_over_http
def allow_data(client: Client, slug: str, name: str, words: str, reason: str) -> tuple[Any, str]:
    """Release the data file NAME of SLUG although it is held back; WORDS say what becomes public.

    `fairboard competition data SLUG` shows the words to use. The audit records this.
    """
    desk = client.organize(slug)
    desk.allow_data_file(name, words, reason=reason)
    (file,) = [each for each in desk.data()["files"] if each["name"] == name]
    return file, _released(file)


def _times(found: Any) -> str:
    begin = f"opens {found.opens_at:%Y-%m-%d %H:%M} UTC" if found.opens_at else "opens when it is published"
    until = f"closes {found.closes_at:%Y-%m-%d %H:%M} UTC" if found.closes_at else "has no closing date"
    return f"{begin}, {until}"


def _change(desk: Organizer, changes: Mapping[str, Any], *, yes: bool) -> Mapping[str, Any]:
    """Change settings and print warnings; ask before saving dates that the server wants confirmed."""
    try:
        answer = desk.change_settings(**changes, confirm=yes)
    except Refused as error:
        if error.name != "confirmation_needed":
            raise
        click.echo("\n".join(each["message"] for each in error.problems) or error.message, err=True)
        if not is_answered_yes("Save this anyway?"):
            raise Unusable("Nothing was changed. Answer y to save, or give --yes in a script.") from error
        answer = desk.change_settings(**changes, confirm=True)
    _warn(answer)
    return answer


def _warn(answer: Mapping[str, Any]) -> None:
    for warning in answer["warnings"]:
        click.echo(f"Warning: {warning['message']}", err=True)


def _missing(slug: str, state: Mapping[str, Any]) -> list[str]:
    lines = [f"- {fault['message']}" for fault in state["missing"]]
    return lines or [f"Nothing is missing: `fairboard competition publish {slug}` publishes it."]


def _told(file: Mapping[str, Any]) -> list[str]:
    sentences = [*file.get("warnings", ()), *file["discloses"], *file["unopened"]]
    left = len(sentences) - SHOWN_SENTENCES
    more = [f"{left:,} more; the organizers' page shows them all"] if left > 0 else []
    return [*sentences[:SHOWN_SENTENCES], *more]


def _require_none_held(slug: str, found: Mapping[str, Any]) -> None:
    lines = []
    for file in found["files"]:
        if file["state"] == "held":
            lines += [f"{file['name']} is held back:", *(f"- {each}." for each in _told(file))]
            lines.append(
                f"To release {file['name']} anyway: fairboard competition allow-data {slug} "
                f"{quote(file['name'])} {quote(file['phrase'])}"
            )
    if lines:
        raise Unusable("\n".join(lines))


def _refuse_owner(owner: str | None) -> None:
    if owner:
        raise Unusable("Over HTTP the owner is the person whose token asks: leave --owner out.")


def read_file(path: Path, before: Mapping[str, Any] | None = None) -> Any:
    """Read a competition file; what reads it belongs to the server."""
    try:
        from grader.cli.remote.competition_files import read
    except ModuleNotFoundError as error:
        raise Unusable(
            f"Reading {path.name} needs {error.name}: install the wheel with its extra `server` too."
        ) from error
    return read(path, before)


def _add_files(desk: Organizer, folder: Path, read: Any) -> list[str]:
    lines = []
    if read.solution:
        lines.append(_set_solution(desk, folder / read.solution))
    for name in read.data:
        desk.add_data_file(folder / name)
        lines.append(f"{Path(name).name} is a data file.")
    if read.data or read.solution or read.allowed:
        for file in desk.data()["files"]:
            if file["state"] == "held" and file["name"] in read.allowed:
                words = read.allowed[file["name"]]
                desk.allow_data_file(file["name"], words, reason="Allowed in the competition file.")
                lines.append(_released(file))
        _require_none_held(desk.slug, desk.data())
    if read.baseline:
        path = folder / read.baseline
        desk.upload("data/baseline", path, fields={"name": path.name})
        lines.append(f"{path.name} is a benchmark.")
    return lines


def _released(file: Mapping[str, Any]) -> str:
    return f"{file['name']} is released. Participants get {file['consequence']}."


def _set_solution(desk: Organizer, path: Path) -> str:
    """Have a solution checked, make it the draft's, and return its report; raise Unusable if refused."""
    checked = desk.check_solution(path)
    if checked["why_not"]:
        problems = [each["message"] for each in as_problems(checked["problems"])]
        report = [described(checked["report"])] if checked["report"] else []
        raise Unusable("\n".join([checked["why_not"], *(f"- {each}" for each in problems), *report]))
    desk.accept_solution(checked)
    return described(checked["report"])


def described(report: Mapping[str, Any]) -> str:
    """Return the report of a solution in lines; without the extra `server` only its first facts."""
    try:
        from grader.cli.metric.solution_report import describe_report
    except ModuleNotFoundError:
        return f"{report['rows']:,} rows, label {report['label']}."
    return describe_report(report)
