"""`fairboard competition`: create, settings, apply, change, data."""

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.client.connection import FileRefused
from grader.cli.organize.acts import FILE, act_on_site, asking, texts_of, yes_option
from grader.cli.parameters import from_jigsaw_option
from grader.client import Client, Unusable
from grader.client.organizer import Organizer, quoted
from grader.errors import FairboardError

STATES = {
    "unchecked": "not checked",
    "waiting": "waiting for its check",
    "passed": "checked",
    "held": "held back",
    "allowed": "released anyway",
}
SHOWN_SENTENCES = 6
FOLLOWING = {"entry_deadline", "merger_deadline", "reveals_at"}  # derived from the other dates
FEEDBACK = {"feedback", "feedback_step"}


@click.command("list")
@act_on_site
def list_all(client: Client) -> tuple[Any, str]:
    """List all competitions, newest first."""
    found = client.competitions()
    lines = [f"{each.slug}\t{each['state']}\t{_times(each)}\t{each.title}" for each in found]
    return {"competitions": found}, "\n".join(lines)


@click.command()
@click.argument("slug", metavar="FILE.toml|SLUG")
@click.option("--title", help="The title.")
@click.option("--solution", type=FILE, help="The secret solution file: id, label, identities and Usage.")
@from_jigsaw_option
@click.option("--label", help="The label column; by default target, label or toxicity.")
@click.option("--owner", help="The account that owns the competition; by default, you.")
@click.option("--publish", "is_published", is_flag=True, help="Publish the draft immediately.")
@act_on_site
def create(
    client: Client,
    slug: str,
    title: str | None,
    solution: Path | None,
    from_jigsaw: Path | None,
    label: str | None,
    owner: str | None,
    is_published: bool,
) -> tuple[Any, str]:
    """Create a draft from FILE.toml, or with the address SLUG from a --title and a --solution.

    Without a Usage column, the rows are split in half, balanced by label and identity. With --from-jigsaw,
    participants also get a data file test.csv with the texts. `fairboard competition change` changes other
    settings.
    """
    changes: dict[str, Any] = {}
    if slug.endswith(".toml"):
        if any((title, solution, from_jigsaw, label)):
            raise click.UsageError(
                "Only --owner and --publish are allowed with a FILE.toml. Set the rest in it."
            )
        return _create_from(client, Path(slug), owner=owner, is_published=is_published)
    if from_jigsaw is not None:
        from grader.files.solution.jigsaw import IDENTITIES, TITLE

        title, changes = title or TITLE, {"identities": IDENTITIES}
    path = solution or from_jigsaw
    if path is None or title is None or (solution and from_jigsaw):
        raise click.UsageError("Specify a FILE.toml, or a --title and either --solution or --from-jigsaw.")

    def fill(desk: Organizer) -> list[str]:
        if changes:
            desk.change_settings(**changes)
        lines = [_set_solution(desk, path, label)]
        if from_jigsaw is not None:
            desk.upload("data", from_jigsaw.with_name("test.csv"))
            require_released(desk)
        return lines

    return _created(client, slug, title, owner, fill, is_published=is_published)


def _create_from(client: Client, path: Path, *, owner: str | None, is_published: bool) -> tuple[Any, str]:
    if not path.is_file():
        raise click.UsageError(f"The file {path} does not exist.")
    read = reader_of(path).read_new(path)

    def fill(desk: Organizer) -> list[str]:
        _warn(desk.change_settings(**read.changes)["warnings"], unless=_reported(read))
        return _add_files(desk, path.parent, read)

    title = read.changes.get("title", "")
    return _created(client, read.slug or path.stem, title, owner, fill, is_published=is_published)


def _created(
    client: Client,
    slug: str,
    title: str,
    owner: str | None,
    fill: Callable[[Organizer], list[str]],
    *,
    is_published: bool,
) -> tuple[Any, str]:
    """Create a draft, fill it and perhaps publish it; if a step fails, print how to continue."""
    sent = {"slug": slug, "title": title, "owner": owner or ""}
    made = client.call("POST", "competitions", json=sent)
    desk, lines = client.organize(slug, confirm=True), [f"{slug} is a draft."]
    try:
        lines += fill(desk)
        if is_published:
            made = desk.publish()
            lines.append(f"{slug} is published.")
        else:
            lines += _missing(desk)
    except FairboardError:
        click.echo(
            f"{slug} remains as a draft. Continue with `fairboard competition apply`, or delete it with "
            f"`fairboard api DELETE competitions/{slug}/organize --yes`.",
            err=True,
        )
        raise
    return made, "\n".join(lines)


@click.command()
@click.argument("slug")
@act_on_site
def settings(client: Client, slug: str) -> tuple[Any, str]:
    """Print the settings of SLUG as a file for `create` and `apply`."""
    desk = client.organize(slug)
    return desk.call("GET", "settings"), desk.text("settings.toml").rstrip("\n")


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@yes_option
@act_on_site
def apply(client: Client, slug: str, file: Path, yes: bool) -> tuple[Any, str]:
    """Change the settings of SLUG to those in FILE, and add the files that FILE lists.

    Settings that are not in FILE stay unchanged. If FILE changes a setting that is locked, nothing is
    changed.
    """
    desk = client.organize(slug, confirm=asking(yes=yes))
    reader = reader_of(file)
    read = reader.read_change(file, desk.call("GET", "settings")["settings"])
    if read.solution and desk.call("GET", "state")["state"] != "draft":
        raise Unusable(f"{slug} is published. To change its solution or metric, start a rescoring.")
    answer = _change(desk, read.changes, unless=_reported(read))
    changed = sorted(reader.SETTINGS[name].key for name in answer["changed"])
    lines = [f"Changed: {', '.join(changed) or 'nothing'}.", *_add_files(desk, file.parent, read)]
    return answer, "\n".join(lines)


@click.command()
@click.argument("slug")
@click.argument("fields", metavar="NAME=VALUE…", nargs=-1, required=True)
@yes_option
@act_on_site
def change(client: Client, slug: str, fields: tuple[str, ...], yes: bool) -> tuple[Any, str]:
    """Change settings of SLUG; @FILE as the value is the text of a file, and [1, 2] or null is JSON.

    \b
    fairboard competition change toxicity closes_at=2030-01-31T23:59Z max_daily_submissions=5
    fairboard competition change toxicity rules=@rules.md

    Changed rules get a new version, which participants must accept before their next submission.
    """
    answer = _change(client.organize(slug, confirm=asking(yes=yes)), texts_of(fields))
    return answer, f"Changed: {', '.join(sorted(answer['changed'])) or 'nothing'}."


@click.command()
@click.argument("slug")
@act_on_site
def data(client: Client, slug: str) -> tuple[Any, str]:
    """Check unchecked data files of SLUG, and show what each file would disclose.

    The exit code is 1 if a file is held back.
    """
    desk = client.organize(slug)
    found = _checked_data(desk)
    lines = []
    for file in found["files"]:
        lines.append(f"{file['name']}: {STATES.get(file['state'], file['state'])}.")
        # The error below lists the findings of held-back files.
        if file["state"] != "held":
            lines += [f"- {sentence}." for sentence in _findings(file)]
    if any(file["state"] == "held" for file in found["files"]):
        click.echo("\n".join(lines))
        require_released(desk)
    return found, "\n".join(lines)


@click.command("metric-file")
@click.argument("slug")
@click.argument("source", type=FILE)
@click.argument("sample", type=FILE, required=False)
@click.option("--title", default="", help="The name of the metric.")
@click.option("--lowest", "direction", flag_value="lowest", help="The lowest score is the best.")
@click.option(
    "--highest", "direction", flag_value="highest", help="The highest score is the best; the default."
)
@click.option(
    "--decimals", type=click.IntRange(0, 15), help="The number of displayed decimals; by default, 5."
)
@click.option(
    "--nonnegative/--any-sign", default=None, help="Declare that no score is negative; by default, any sign."
)
@click.option("--arguments", default="", metavar="JSON", help="Further arguments of `score`.")
@act_on_site
def metric_file(
    client: Client,
    slug: str,
    source: Path,
    sample: Path | None,
    title: str,
    direction: str | None,
    decimals: int | None,
    nonnegative: bool | None,
    arguments: str,
) -> tuple[Any, str]:
    """Use the metric in SOURCE, a metric.py, for SLUG.

    SAMPLE is a sample submission, which determines the columns of a submission. For a published competition,
    the metric is checked for a rescoring. Options that you omit keep their values.
    """
    given = {"direction": direction, "decimals": decimals, "nonnegative": nonnegative}
    fields = {name: str(value).lower() for name, value in given.items() if value is not None}
    fields |= {"title": title, "arguments": arguments}
    stored = client.organize(slug).upload("metric-file", source, sample=sample, fields=fields)
    return stored, f"{slug} has the metric {stored['sha256'][:12]}."


def _times(found: Any) -> str:
    begin = f"opens {found.opens_at:%Y-%m-%d %H:%M} UTC" if found.opens_at else "opens when it is published"
    until = f"closes {found.closes_at:%Y-%m-%d %H:%M} UTC" if found.closes_at else "has no closing date"
    return f"{begin}, {until}"


def _reported(read: Any) -> set[str]:
    """Return the settings about which the solution's report already warns."""
    return {"identities"} if read.solution else set()


def _change(
    desk: Organizer, changes: Mapping[str, Any], *, unless: Collection[str] = ()
) -> Mapping[str, Any]:
    """Change settings and print warnings."""
    answer = desk.change_settings(**changes)
    changed = set(answer["changed"])
    changed |= FOLLOWING if changed & {"opens_at", "closes_at"} else set()
    changed |= FEEDBACK if changed & FEEDBACK else set()
    _warn([each for each in answer["warnings"] if changed.intersection(each["fields"])], unless=unless)
    return answer


def _warn(warnings: list[Mapping[str, Any]], *, unless: Collection[str] = ()) -> None:
    for warning in warnings:
        if not set(unless).intersection(warning["fields"]):
            click.echo(f"Warning: {warning['message']}", err=True)


def _missing(desk: Organizer) -> list[str]:
    lines = [f"- {fault['message']}" for fault in desk.call("GET", "state")["missing"]]
    return lines or [
        f"The draft is complete. To publish it, run `fairboard competition publish {desk.slug}`."
    ]


def _findings(file: Mapping[str, Any]) -> list[str]:
    """Return the findings of a check, limited to what fits on one screen."""
    sentences = [*file["discloses"], *file["unopened"]]
    left = len(sentences) - SHOWN_SENTENCES
    more = [f"{left:,} more; the Organize page shows all of them"] if left > 0 else []
    return [*sentences[:SHOWN_SENTENCES], *more]


def _checked_data(desk: Organizer) -> Mapping[str, Any]:
    """Return the data files after running all pending checks."""
    found = desk.data()
    unchecked = [file["name"] for file in found["files"] if file["state"] == "unchecked"]
    for name in unchecked:
        desk.call("POST", f"data/{quoted(name)}/check")
    return desk.data() if unchecked else found


def require_released(desk: Organizer) -> None:
    """Raise Unusable if a data file is held back; unchecked files are checked first."""
    lines = []
    for file in _checked_data(desk)["files"]:
        if file["state"] == "held":
            lines += [f"{file['name']} is held back:", *(f"- {each}." for each in _findings(file))]
            lines.append(
                f"To release {file['name']} anyway: fairboard api POST "
                f"competitions/{desk.slug}/organize/data/{quoted(file['name'])}/allow"
            )
    if lines:
        raise Unusable("\n".join(lines))


def reader_of(path: Path) -> Any:
    """Return the module that reads competition files; raise Unusable if `server` is not installed."""
    try:
        from grader.cli.organize import competition_files
    except ModuleNotFoundError as error:
        raise Unusable(
            f"Reading {path.name} needs {error.name}. Also install the wheel's `server` extra."
        ) from error
    return competition_files


def _add_files(desk: Organizer, folder: Path, read: Any) -> list[str]:
    lines = []
    if read.metric_file:
        fields = {name: str(value) for name, value in read.python.items() if name != "arguments"}
        fields["arguments"] = json.dumps(read.python.get("arguments", {}))
        sample = folder / read.sample if read.sample else None
        desk.upload("metric-file", folder / read.metric_file, sample=sample, fields=fields)
        lines.append(f"{read.metric_file} is the metric.")
    if read.solution:
        lines.append(_set_solution(desk, folder / read.solution, read.label))
    for name in read.data:
        desk.upload("data", folder / name)
        lines.append(f"{Path(name).name} was added as a data file.")
    if read.data or read.solution or read.allowed:
        for file in _checked_data(desk)["files"]:
            if file["state"] == "held" and file["name"] in read.allowed:
                desk.allow_data_file(file["name"], reason="Allowed in the competition file.")
                lines.append(_released(file))
        require_released(desk)
    if read.baseline:
        path = folder / read.baseline
        desk.upload("data/baseline", path)
        lines.append(f"{path.name} was added as a benchmark.")
    return lines


def _released(file: Mapping[str, Any]) -> str:
    return f"{file['name']} is released. Participants get {file['consequence']}."


def _set_solution(desk: Organizer, path: Path, label: str | None) -> str:
    """Check a solution, set it as the draft's solution, and return its report."""
    # Data files are checked separately.
    checked = desk.check_solution(path, finds_test=False)
    if label is not None:
        checked = _with_label(desk, checked, label)
    require_acceptable(checked)
    desk.accept_solution(checked)
    return described(checked["report"])


def _with_label(desk: Organizer, checked: dict[str, Any], label: str) -> dict[str, Any]:
    """Check a solution with this label column, and return the result."""
    roles = {column["name"]: column["role"] for column in checked["columns"]}
    if roles and label not in roles:
        raise Unusable(f"The solution has no column {label!r}.")
    if not roles or roles[label] == "label":
        return checked
    replaced = [name for name, role in roles.items() if role == "label"]
    sent = dict.fromkeys(replaced, "unused") | {label: "label"}
    job = desk.call("POST", f"solution/{checked['job']['id']}/roles", json={"roles": sent})
    return desk.ended(f"solution/{job['id']}")


def require_acceptable(checked: Mapping[str, Any]) -> None:
    """Raise FileRefused or Unusable, with all problems, if the check of a solution failed."""
    if not checked["why_not"]:
        return
    problems = [f"- {each['message']}" for each in checked["problems"]]
    findings = checked["report"]["findings"] if checked["report"] else ()
    stops = [each["message"] for each in findings if each["level"] == "stop"]
    # The file readers use the same wording.
    if any("line" in each for each in checked["problems"]):
        problems += [f"- {each}" for each in stops]
        raise FileRefused("\n".join(["The solution is rejected:", *problems]))
    raise Unusable("\n".join(stops) or "\n".join([checked["why_not"], *problems]))


def described(report: Mapping[str, Any]) -> str:
    """Return a solution's report as text; if `server` is not installed, only its size and label."""
    try:
        from grader.cli.metric.check import describe_report
    except ModuleNotFoundError:
        return f"{report['rows']:,} rows, label {report['label']}."
    return describe_report(report)
