"""API for fair play: signs with evidence, marks, shared logins."""

from flask import url_for

from grader.models import OrganizerJob, Role
from grader.services.competitions.acting import Act
from grader.services.fair_play import report
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import DESK, Started, organizers_operation
from webapp.http.site import current_site
from webapp.organizers.fair_play import answers, pages
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
    """Return the signs of unfair play that may deserve a review."""
    return _found(slug)


@blueprint.get(f"{HERE}/same-people")
@organizers_operation(Role.EDITOR, answers=SamePeopleAnswer, tag=TAG)
def same_people(slug: str) -> SamePeopleAnswer:
    """Return users who changed teams, merged teams, and teams that share an address or a browser.

    The addresses and browsers themselves are not shown. If many teams share one, these teams are not listed.
    """
    site = current_site()
    with reading() as session:
        found = shared_by_teams(session, competition_of(session, slug))
    places = [
        SharedPlaceAnswer.of(
            place,
            logins=[
                PlaceLogins.of(
                    each,
                    person=each.person.name,
                    team_id=each.team.id,
                    team=each.team.name,
                    login_count=each.count,
                )
                for each in place.logins
            ],
        )
        for place in found.places
    ]
    moved = [
        MovedAnswer.of(each, person=each.person.name, earlier_team_id=each.earlier.id, team_id=each.now.id)
        for each in found.moved
    ]
    return SamePeopleAnswer(
        is_noted=site.settings.note_shared_logins,
        places=places,
        shared_by_many=[SharedByMany.of(each) for each in found.crowds],
        moved=moved,
        merged=[
            MergedAnswer.of(each, team_id=each.team.id, into_team_id=each.into.id) for each in found.merged
        ],
    )


def _found(slug: str) -> FairPlay:
    newest, done, found, lines = found_lines(slug)
    return FairPlay(
        job=organizing.job(newest) if newest else None,
        looked_at=done.finished_at if done else None,
        file_count=found.file_count if found else 0,
        unread_count=found.unread_count if found else 0,
        older_count=found.older_count if found else 0,
        teams=[answers.team(line) for line in lines.teams] if lines else [],
        pairs=[answers.pair(line) for line in (*lines.pairs, *lines.near_known)] if lines else [],
    )


FAIR_PLAY = Family(
    pages=pages.blueprint,
    tag=TAG,
    refusals=(report.MarkNeedsReason, report.UnknownLine),
    show=pages.page,
    home=lambda slug: url_for("fair_play.index", slug=slug),
    answers=FairPlay,
    answer=lambda act, _outcome: _found(act.competition.slug),
    role=Role.EDITOR,
)


@FAIR_PLAY.action(
    "",
    page="look",
    done="The submissions are being analyzed.",
    answers=Started,
    answer=lambda act, job: organizing.started(job, url_for("api.fair_play", slug=act.competition.slug)),
    status=202,
)
def look_at_submissions(act: Act) -> OrganizerJob:
    """Analyze the submissions now."""
    return report.request(**act.parts)


@FAIR_PLAY.action("/marks", page="mark", done="Marked as reviewed.")
def mark_fair_play(act: Act, sent: MarkRequest) -> None:
    """Mark an entry as reviewed, with the reason why it is harmless."""
    report.mark(act, line=sent.line, reason=sent.reason)
