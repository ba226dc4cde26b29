"""API for fair play: signs with evidence, marks, shared logins."""

from flask import url_for

from grader.models import OrganizerJob, Role
from grader.services.competitions.acting import Act
from grader.services.fair_play import report
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.site import current_site
from webapp.organizers.fair_play import answers, pages
from webapp.organizers.fair_play.answers import FairPlay, MarkRequest, SamePeopleAnswer

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
    """Return the addresses and browsers that a few teams share.

    The addresses and browsers themselves are not shown.
    """
    with reading() as session:
        competition = competition_of(session, slug)
        return answers.connections(session, competition, is_noted=current_site().settings.note_shared_logins)


def _found(slug: str) -> FairPlay:
    with reading() as session:
        competition = competition_of(session, slug)
        return answers.findings(session, competition, report.newest(session, competition=competition))


FAIR_PLAY = Family(
    pages=pages.blueprint,
    tag=TAG,
    refusals=(report.MarkNeedsReason, report.UnknownLine),
    show=pages.index,
    home=lambda slug: url_for("fair_play.index", slug=slug),
    answers=FairPlay,
    answer=lambda act, _outcome: _found(act.competition.slug),
    role=Role.EDITOR,
)


@FAIR_PLAY.action(
    "",
    page="look",
    done="The submissions are being analyzed.",
    **organizing.starts("api.fair_play"),
)
def look_at_submissions(act: Act) -> OrganizerJob:
    """Analyze the submissions now."""
    return report.request(**act.parts)


@FAIR_PLAY.action("/marks", page="mark", done="Marked as reviewed.")
def mark_fair_play(act: Act, sent: MarkRequest) -> None:
    """Mark an entry as reviewed, with the reason why it is harmless."""
    report.mark(act, line=sent.line, reason=sent.reason)
