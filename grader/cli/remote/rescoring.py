"""`fairboard rescore` over HTTP: prepare on the site, see the difference, publish, roll back, drop."""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from grader.cli.competition.rescoring_options import rescoring_options
from grader.cli.questions import is_answered_yes
from grader.cli.remote.acts import act_over_http, plain
from grader.cli.remote.setup import described, read_file
from grader.client import Client, Unusable
from grader.client.errors import as_problems
from grader.client.organizer import Organizer

TABLES = ("submissions", "teams", "selections")


@click.command()
@rescoring_options
@act_over_http
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
    notice: str,
    extra_submissions: int,
    closes_at: datetime | None,
    selection_until: datetime | None,
    yes: bool,
    lose_scores: bool,
) -> tuple[Any, str]:
    """Rescore all submissions of SLUG with a corrected SOLUTION, then switch the leaderboards.

    The leaderboards change only after all submissions are scored and you have confirmed the summary of the
    changes.
    """
    starts = [each for each in (solution, settings, rollback) if each is not None]
    if sum((len(starts), publish, difference, drop)) != 1:
        raise click.UsageError(
            "Give one of SOLUTION, --settings, --rollback, --publish, --difference and --drop."
        )
    if bool(starts) != bool(reason and reason.strip()):
        raise click.UsageError(
            "Give a --reason with SOLUTION, --settings and --rollback, and with nothing else."
        )
    desk = client.organize(slug)
    amends = {"notice": notice, "extra_submissions": extra_submissions, "lose_scores": lose_scores}
    amends |= {"closes_at": plain(closes_at), "selection_deadline": plain(selection_until)}
    if drop:
        number = _under_way(desk)
        answer = desk.call("DELETE", f"rescoring/{number}")
        return answer, f"Scoring version {number} is cancelled; the leaderboards are unchanged."
    if difference:
        return _difference(desk, _under_way(desk), folder)
    if rollback is not None:
        if preview:
            raise click.UsageError("A rollback has no --preview: the organizers' pages show its difference.")
        return _roll_back(desk, rollback, {"reason": reason, **amends}, yes=yes)
    report = ""
    if publish:
        number = _under_way(desk)
    else:
        number, report = _begin(desk, solution, settings, reason or "")
    desk.rescored(number)
    if preview:
        answer, text = _difference(desk, number, folder)
        return answer, "\n".join([report, text, f"`fairboard rescore {slug} --publish` publishes it."])
    desk.data()  # nothing is published before the data files are checked with the new solution
    _ask(desk, number, yes=yes)
    answer = desk.publish_rescoring(number, **amends)
    return answer, f"{report}\n{_switched(desk, number)}".strip()


def _begin(desk: Organizer, solution: Path | None, settings: Path | None, reason: str) -> tuple[int, str]:
    if solution is not None:
        checked = desk.check_solution(solution)
        if checked["why_not"]:
            problems = [each["message"] for each in as_problems(checked["problems"])]
            raise Unusable("\n".join([checked["why_not"], *(f"- {each}" for each in problems)]))
        sent, report = {"solution": checked["job"]["id"]}, described(checked["report"])
    else:
        in_use = desk.call("GET", "rescoring/settings")
        read = read_file(settings or Path(), in_use).changes
        wanted = {name: read.get(name, in_use[name]) for name in ("identities", "metric")}
        job = desk.call("POST", "rescoring/settings", json=wanted)
        checked = desk.ended("rescoring/settings", job="check")
        if checked["check"]["state"] != "done":
            raise Unusable(" ".join(each["message"] for each in as_problems(checked["check"]["problems"])))
        sent, report = {"settings": job["id"]}, ""
    return desk.call("POST", "rescoring", json={**sent, "reason": reason})["number"], report


def _roll_back(desk: Organizer, number: int, sent: dict[str, Any], *, yes: bool) -> tuple[Any, str]:
    _ask(desk, number, yes=yes)
    answer = desk.call("POST", f"rescoring/{number}/rollback", json=sent)
    if answer["state"] == "preparing":
        desk.rescored(number)
        amends = {name: value for name, value in sent.items() if name != "reason"}
        answer = desk.publish_rescoring(number, **amends)
    return answer, _switched(desk, number)


def _ask(desk: Organizer, number: int, *, yes: bool) -> None:
    found = desk.difference(number)
    click.echo("\n".join(found["sentences"]), err=True)
    if not yes and not is_answered_yes(
        f"Switch every leaderboard of {desk.slug} to scoring version {number}?"
    ):
        raise Unusable("Nothing was switched. Answer y to switch, or give --yes in a script.")


def _switched(desk: Organizer, number: int) -> str:
    return f"All leaderboards of {desk.slug} now use scoring version {number}."


def _difference(desk: Organizer, number: int, folder: Path | None) -> tuple[Any, str]:
    found = desk.difference(number)
    lines = list(found["sentences"])
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            path = folder / f"{name}.csv"
            path.write_text(desk.text(f"rescoring/{number}/{name}.csv"), encoding="utf-8", newline="")
            lines.append(f"Wrote {path}.")
    return found, "\n".join(lines)


def _under_way(desk: Organizer) -> int:
    for version in desk.call("GET", "rescoring")["versions"]:
        if version["state"] == "preparing":
            return int(version["number"])
    raise Unusable(f"No rescoring of {desk.slug} is in progress.")
