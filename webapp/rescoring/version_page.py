"""Scoring version page: progress, and the questions of its publication, rollback and drop."""

from dataclasses import dataclass
from typing import Any, Self

from flask import Response, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role, ScoringVersion, ScoringVersionState
from grader.services.competitions.metric import Rules
from grader.services.rescoring import difference, preparation
from grader.services.rescoring.difference import Changes
from grader.text import counted
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.actions import sentences
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question
from webapp.http.context import reading
from webapp.http.responses import polled
from webapp.http.site import current_site
from webapp.rescoring.pages import blueprint
from webapp.rescoring.views import ProgressView, changed_settings, suggested_notice


@blueprint.get("/<int:number>")
@organizers_only(Role.VIEWER)
def show(slug: str, number: int, *, problem: Any = None) -> str:
    """Show a scoring version, its progress and its actions, with the entered values of its form."""
    with reading() as session:
        now = db.now(session)
        competition, version = lookups.scoring_version_of(session, slug, number)
        progress = ProgressView(preparation.progress(session, scoring_version_id=version.id, now=now))
        gaps = difference.gaps(session, competition=competition, version=version)
        versions = difference.versions_of(session, competition=competition, version=version)
        view = CompetitionView(competition, now)
    is_preparing = version.state is ScoringVersionState.PREPARING
    notice = suggested_notice(version, view.title) if is_preparing else ""
    return render_template(
        "rescoring/version.html",
        competition=view,
        scoring_version=version,
        progress=progress,
        gaps=gaps,
        versions=versions,
        settings=changed_settings(versions) if versions else [],
        changes=version.solution.report.get("changes"),
        has_identities=Rules.of(version).form.takes_identities,
        form=request.form or {"notice": notice},
        problems=sentences(problem),
        etag=_status(progress).headers["ETag"],
    )


@blueprint.get("/<int:number>/status")
@organizers_only(Role.VIEWER)
def status(slug: str, number: int) -> ResponseReturnValue:
    """Return the progress of a scoring version as JSON."""
    with reading() as session:
        _, version = lookups.scoring_version_of(session, slug, number)
        progress = preparation.progress(session, scoring_version_id=version.id)
    return _status(ProgressView(progress)).make_conditional(request)


def drop_question(slug: str, version: ScoringVersion, progress: preparation.JobProgress) -> Question:
    """Return the question for dropping a version that is being prepared."""
    return Question(
        heading=f"Cancel the rescoring with scoring version {version.number}?",
        sentences=(
            f"The scores of {counted(progress.finished, 'submission')} under this version will be discarded. "
            "The leaderboards stay unchanged.",
        ),
        button="Cancel this rescoring",
        back=url_for("organize_rescoring.show", slug=slug, number=version.number),
        state=f"drop {version.id}",
    )


@dataclass(frozen=True, slots=True)
class Switch:
    """The question for making a version live, which is bound to the changes and the request's fields."""

    number: int
    heading: str
    button: str

    @classmethod
    def publication(cls, number: int) -> Self:
        """Return the texts for a prepared version."""
        return cls(number, f"Publish scoring version {number}?", f"Publish scoring version {number}")

    @classmethod
    def rollback(cls, number: int) -> Self:
        """Return the texts for an earlier version."""
        return cls(number, f"Roll back to scoring version {number}?", f"Roll back to version {number}")

    def question(self, slug: str, summary: Changes, *, notice: str, fields: str) -> Question:
        """Return the question with the changes and the way in which participants are notified."""
        return Question(
            heading=self.heading,
            sentences=(*summary.sentences, _notification(notice)),
            button=self.button,
            back=url_for("organize_rescoring.show", slug=slug, number=self.number),
            state=f"{summary.digest} {fields}",
            links=(
                ("Full difference", url_for("organize_rescoring.difference", slug=slug, number=self.number)),
            ),
            can_change=True,
        )


def _notification(notice: str) -> str:
    """Describe how participants are notified; shown first, because e-mails cannot be recalled."""
    if not current_site().settings.sends_mail():
        return "No e-mail is sent because this site sends none."
    if notice.strip():
        return "All teams get the message by e-mail."
    return "No e-mail is sent because the message is blank."


def _status(progress: ProgressView) -> Response:
    return polled(progress.as_json())
