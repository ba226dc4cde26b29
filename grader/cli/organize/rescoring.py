"""`fairboard rescore`: prepare, compare, publish, roll back and cancel rescorings."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from grader.cli.organize.acts import FILE, act_on_site, asking, texts_of, yes_option
from grader.cli.organize.setup import described, reader_of, require_acceptable
from grader.cli.parameters import LocalPath, options
from grader.client import Client, Refused, Unusable
from grader.client.organizer import Organizer
from grader.text import counted


@click.command()
@options(
    click.argument("slug"),
    click.argument("solution", type=FILE, required=False),
    click.option("--settings", type=FILE, help="A TOML file with a new [metric], instead of SOLUTION."),
    click.option(
        "--rollback", type=int, metavar="NUMBER", help="The earlier scoring version to roll back to."
    ),
    click.option("--reason", help="The reason why the scores change; participants can see it."),
    click.option(
        "--preview",
        is_flag=True,
        help="Score all submissions and show the difference, but do not publish it.",
    ),
    click.option("--publish", is_flag=True, help="Publish the rescoring in progress."),
    click.option(
        "--difference", is_flag=True, help="Show the changes that the rescoring in progress would make."
    ),
    click.option("--drop", is_flag=True, help="Cancel the rescoring in progress."),
    click.option(
        "--csv",
        "folder",
        type=LocalPath(file_okay=False),
        help="Folder to write the scores of all submissions to, as submissions.csv.",
    ),
    click.option(
        "-f",
        "--field",
        "fields",
        metavar="NAME=VALUE",
        multiple=True,
        help="A field of the publication, such as notice or lose_scores. Repeatable.",
    ),
    yes_option,
)
@act_on_site
def rescore(
    client: Client,
    slug: str,
    solution: Path | None,
    settings: Path | None,
    rollback: int | None,
    reason: str | None,
    preview: bool,
    publish: bool,
    difference: bool,
    drop: bool,
    folder: Path | None,
    fields: tuple[str, ...],
    yes: bool,
) -> tuple[Any, str]:
    """Rescore all submissions of SLUG with a corrected SOLUTION, then switch the leaderboards.

    The leaderboards change only after all submissions are scored and you confirm the summary of the changes.
    To continue an interrupted rescoring, run the same command again.
    """
    starts = [each for each in (solution, settings, rollback) if each is not None]
    if sum((len(starts), publish, difference, drop)) != 1:
        raise click.UsageError(
            "Specify exactly one of SOLUTION, --settings, --rollback, --publish, --difference and --drop."
        )
    if bool(starts) != bool(reason and reason.strip()):
        raise click.UsageError(
            "SOLUTION, --settings and --rollback require a --reason; no other option accepts one."
        )
    # --drop itself confirms the action.
    desk = client.organize(slug, confirm=drop or asking(yes=yes))
    sent_fields = texts_of(fields)
    if drop:
        number = _under_way(desk)
        answer = desk.call("DELETE", f"rescoring/{number}")
        return answer, f"Scoring version {number} is cancelled; the leaderboards are unchanged."
    if difference:
        return _difference(desk, _under_way(desk), folder)
    if rollback is not None:
        if preview:
            raise click.UsageError(
                "--rollback does not accept --preview. The Organize page shows the difference."
            )
        return _roll_back(desk, rollback, {"reason": reason, **sent_fields})
    if publish:
        number, lines = _under_way(desk), list[str]()
    else:
        number, lines = _begin(desk, solution, settings, reason or "")
    if desk.call("GET", f"rescoring/{number}")["state"] == "live":
        if preview:
            raise Unusable(f"The live version {number} already uses these inputs.")
        return {"number": number}, "\n".join([*lines, _switched(desk, number)])
    desk.rescored(number)
    if preview:
        answer, text = _difference(desk, number, folder)
        return answer, "\n".join([*lines, text, f"To publish it, run `fairboard rescore {slug} --publish`."])
    answer = _publish(desk, number, sent_fields)
    return answer, "\n".join([*lines, _switched(desk, number)])


def _begin(
    desk: Organizer, solution: Path | None, settings: Path | None, reason: str
) -> tuple[int, list[str]]:
    """Start a rescoring, or continue it after an interruption."""
    checked = _check(desk, solution) if solution is not None else _check_settings(desk, settings or Path())
    before = _preparing(desk)
    lines = [described(checked["report"])] if checked.get("report") else []
    try:
        sent = {checked["what"]: checked["job"]["id"], "reason": reason}
        number = int(desk.call("POST", "rescoring", json=sent)["number"])
    except Refused as error:
        if error.name != "rescoring_under_way":
            raise
        raise Unusable(
            f"{error.message} To cancel it, run `fairboard rescore {desk.slug} --drop`."
        ) from error
    if before is not None:
        lines.append(f"Continuing with scoring version {number}.")
    return number, lines


def _check(desk: Organizer, solution: Path) -> dict[str, Any]:
    checked = desk.check_solution(solution, finds_test=False)
    require_acceptable(checked)
    return {**checked, "what": "solution"}


def _check_settings(desk: Organizer, settings: Path) -> dict[str, Any]:
    """Check the metric settings of a file against the live solution."""
    in_use = desk.call("GET", "rescoring/settings")
    changes = reader_of(settings).read_change(settings, in_use).changes
    wanted = {name: changes.get(name) or in_use[name] for name in ("identities", "metric")}
    if wanted == {name: in_use[name] for name in wanted}:
        raise Unusable("The file's [metric] settings are already in use.")
    job = desk.call("POST", "rescoring/settings", json=wanted)
    checked = desk.ended("rescoring/settings", job="check")["check"]
    if checked["state"] != "done":
        raise Unusable(" ".join(each["message"] for each in checked["problems"]))
    return {"what": "settings", "job": job}


def _publish(desk: Organizer, number: int, sent_fields: dict[str, Any]) -> dict[str, Any]:
    """Publish a version; files that arrive in the meantime are scored too."""
    # This waits until the data files have been checked against the new solution.
    desk.data()
    return _switch(desk, number, f"rescoring/{number}/publish", sent_fields)


def _roll_back(desk: Organizer, number: int, sent: dict[str, Any]) -> tuple[Any, str]:
    """Roll back after scoring missing submissions; continue an interrupted rollback."""
    lines = []
    if _preparing(desk) == number:
        lines.append(f"Continuing with scoring version {number}.")
        answer = desk.call("GET", f"rescoring/{number}")
    else:
        answer = _switch(desk, number, f"rescoring/{number}/rollback", sent)
    if answer["state"] == "preparing":
        desk.rescored(number)
        sent_fields = {name: value for name, value in sent.items() if name != "reason"}
        answer = _publish(desk, number, sent_fields)
    return answer, "\n".join([*lines, _switched(desk, number)])


def _switch(desk: Organizer, number: int, path: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Switch the leaderboards; a file that arrived in the meantime is scored first."""
    while True:
        try:
            return desk.call("POST", path, json=sent)
        except Refused as error:
            if error.name != "rescoring_incomplete":
                raise
            desk.rescored(number)


def _switched(desk: Organizer, number: int) -> str:
    return f"All leaderboards of {desk.slug} now use scoring version {number}."


def _difference(desk: Organizer, number: int, folder: Path | None) -> tuple[Any, str]:
    """Return the difference from the live version as text, and write its table."""
    found = desk.call("GET", f"rescoring/{number}/difference")
    lines = list(_sentences(found))
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "submissions.csv"
        path.write_text(desk.text(f"rescoring/{number}/submissions.csv"), encoding="utf-8", newline="")
        lines.append(f"Wrote {path}.")
    return found, "\n".join(lines)


def _sentences(found: Mapping[str, Any]) -> Iterator[str]:
    yield f"From scoring version {found['before']} to {found['after']}:"
    if found["unfinished"]:
        have = "has" if found["unfinished"] == 1 else "have"
        unfinished = counted(found["unfinished"], "submission")
        yield f"The difference is incomplete: {unfinished} {have} no score under this version yet."
    if found["lost"]:
        theirs = "its score" if found["lost"] == 1 else "their scores"
        yield f"{counted(found['lost'], 'submission')} would lose {theirs}."
    yield from found["sentences"]
    for name in ("public", "private"):
        for each in found[name]["tops"]:
            entering, leaving = (", ".join(each[side]) or "no team" for side in ("entering", "leaving"))
            if each["entering"] or each["leaving"]:
                yield f"Top {each['top']}, {name}: entering {entering}; leaving {leaving}."
    for split, changes in found["term_changes"].items():
        words = ", ".join(f"{term} {change:+.4f}" for term, change in changes.items())
        yield f"Mean change of each term on the {split} rows: {words}."


def _preparing(desk: Organizer) -> int | None:
    versions = desk.call("GET", "rescoring")["versions"]
    return next((int(each["number"]) for each in versions if each["state"] == "preparing"), None)


def _under_way(desk: Organizer) -> int:
    number = _preparing(desk)
    if number is None:
        raise Unusable(f"No rescoring of {desk.slug} is in progress.")
    return number
