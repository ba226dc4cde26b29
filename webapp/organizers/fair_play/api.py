"""API for organizers: signs of unfair play with their evidence, marks, and what teams share."""

from typing import Any

from flask import url_for

from grader.models import Role
from grader.services.fair_play import report
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import DESK, Started, act, organizers_operation
from webapp.http.site import current_site
from webapp.organizers.fair_play import answers
from webapp.organizers.fair_play.answers import (
    FairPlay,
    MarkRequest,
    MergedAnswer,
    MovedAnswer,
    PlaceLogins,
    SamePeopleAnswer,
    SharedByMany,
    SharedPlaceAnswer,
)
from webapp.organizers.fair_play.pages import found_lines, shared_by_teams

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
    act(slug, report.mark, line=json.line, reason=json.reason)
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


@blueprint.get(f"{HERE}/same-people")
@organizers_operation(Role.EDITOR, answers=SamePeopleAnswer, tag=TAG)
def same_people(slug: str) -> SamePeopleAnswer:
    """Return which teams share an address or a browser, who moved between teams, and which were merged.

    No address and no browser is shown. A place that many teams share says nothing, and names nobody.
    """
    site = current_site()
    with reading() as session:
        found = shared_by_teams(session, competition_of(session, slug))
    return SamePeopleAnswer(
        is_noted=site.settings.note_shared_logins,
        places=[
            SharedPlaceAnswer(
                kind=place.kind,
                has_same_file=place.has_same_file,
                logins=[
                    PlaceLogins(
                        person=each.person.name,
                        team_id=each.team.id,
                        team=each.team.name,
                        login_count=each.count,
                        first_at=each.first_at,
                        last_at=each.last_at,
                    )
                    for each in place.logins
                ],
            )
            for place in found.places
        ],
        shared_by_many=[
            SharedByMany(kind=each.kind, team_count=each.team_count, person_count=each.person_count)
            for each in found.crowds
        ],
        moved=[
            MovedAnswer(
                person=each.person.name,
                earlier_team_id=each.earlier.id,
                team_id=each.now.id,
                submission_count=each.submission_count,
                last_sent_at=each.last_sent_at,
            )
            for each in found.moved
        ],
        merged=[
            MergedAnswer(team_id=each.team.id, into_team_id=each.into.id, at=each.at) for each in found.merged
        ],
    )
