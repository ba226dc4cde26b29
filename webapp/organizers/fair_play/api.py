"""API for organizers: signs of probing and files that are alike, with their evidence, and marks."""

from typing import Any

from flask import url_for

from grader.models import Role
from grader.services.fair_play import marks, report
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint
from webapp.http.organizer_operations import DESK, Started, act, organizers_operation
from webapp.organizers.fair_play import answers
from webapp.organizers.fair_play.answers import FairPlay, MarkRequest
from webapp.organizers.fair_play.pages import found_lines

TAG = "fair play"
HERE = f"{DESK}/fair-play"


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=FairPlay, tag=TAG)
def fair_play(slug: str) -> FairPlay:
    """Return what may be worth a look."""
    return _found(slug)


@blueprint.post(HERE)
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def look_at_submissions(slug: str) -> Any:
    """Look through the submissions now."""
    return organizing.started(act(slug, report.request), url_for("api.fair_play", slug=slug))


@blueprint.post(f"{HERE}/marks")
@organizers_operation(Role.EDITOR, answers=FairPlay, tag=TAG)
def mark_fair_play(slug: str, json: MarkRequest) -> FairPlay:
    """Mark a line as looked at: nothing is wrong, and why."""
    act(slug, marks.mark, line=json.line, reason=json.reason)
    return _found(slug)


def _found(slug: str) -> FairPlay:
    newest, done, found, lines = found_lines(slug)
    return FairPlay(
        job=organizing.job(newest) if newest else None,
        looked_at=done.finished_at if done else None,
        file_count=found.file_count if found else 0,
        unread_count=found.unread_count if found else 0,
        older_count=found.older_count if found else 0,
        teams=[answers.team(line) for line in lines.teams] if lines else [],
        canaries=answers.canaries(lines.canaries) if lines and lines.canaries else None,
        pairs=[answers.pair(line) for line in (*lines.pairs, *lines.near_known)] if lines else [],
    )
