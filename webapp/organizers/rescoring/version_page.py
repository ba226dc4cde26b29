"""Scoring version page: progress, publication, rollback, drop."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Self

from flask import Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from wtforms import TextAreaField
from wtforms.widgets import DateInput, DateTimeLocalInput, NumberInput

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, Role, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.limits import grants
from grader.services.rescoring import difference, preparation, publication
from grader.services.rescoring.difference import Changes
from grader.services.rescoring.publication import Amends, InvalidPublication
from grader.text import counted, utc
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm, wants_to_change
from webapp.http.context import actor, reading, writing
from webapp.http.errors import status_of, wants_json
from webapp.http.responses import polled
from webapp.http.site import current_site
from webapp.organizers.rescoring import difference_page
from webapp.organizers.rescoring.pages import blueprint
from webapp.organizers.rescoring.views import ProgressView, changed_settings, suggested_notice
from webapp.presentation.form_fields import SiteForm, TextEntry, TickBox

MAX_EXTRA = 1_000


def _count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= MAX_EXTRA:
        raise ValueError(text)
    return count


def _moment(text: str) -> datetime:
    return utc(datetime.fromisoformat(text))


def _entry(label: str, read: Callable[[str], Any], widget: Any) -> Any:
    def read_or_refuse(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise ValueError(f" is not valid: {text[:40]!r}.") from None

    return TextEntry(label, read_or_refuse, is_optional=True, widget=widget)


class PublishForm(SiteForm):
    """The message and compensation for a publication."""

    reason = TextAreaField(default="")
    notice = TextAreaField(default="")
    extra_submissions = _entry(
        "The number of extra submissions", _count, NumberInput(min=0, max=MAX_EXTRA, step=1)
    )
    extra_day = _entry("The day of the extra submissions", date.fromisoformat, DateInput())
    closes_at = _entry("The new closing date", _moment, DateTimeLocalInput())
    selection_deadline = _entry("The end of the final selection", _moment, DateTimeLocalInput())
    lose_scores = TickBox()

    def amends(self) -> Amends:
        """Return the message and compensation; raise InvalidPublication with all invalid fields."""
        if not self.validate():
            raise InvalidPublication(problem for field in self for problem in field.errors)
        return Amends(
            notice=self.notice.data,
            extra_submissions=self.extra_submissions.data or 0,
            extra_day=self.extra_day.data,
            closes_at=self.closes_at.data,
            selection_deadline=self.selection_deadline.data,
        )


@blueprint.get("/<int:number>")
@organizers_only(Role.VIEWER)
def show(slug: str, number: int) -> ResponseReturnValue:
    """Show a scoring version, its progress and its actions."""
    return _show(slug, number)


@blueprint.get("/<int:number>/status")
@organizers_only(Role.VIEWER)
def status(slug: str, number: int) -> ResponseReturnValue:
    """Return the progress of a scoring version as JSON."""
    with reading() as session:
        _, version = lookups.scoring_version_of(session, slug, number)
        progress = preparation.progress(session, scoring_version_id=version.id)
    return _status(ProgressView(progress)).make_conditional(request)


@blueprint.post("/<int:number>/publish")
@organizers_only(Role.EDITOR)
def publish(slug: str, number: int) -> ResponseReturnValue:
    """Publish a prepared version, with the message and compensation from the form."""

    def act(session: Any, _competition: Competition, version: ScoringVersion, given: dict[str, Any]) -> None:
        publication.publish(session, scoring_version_id=version.id, **given)

    done = f"All leaderboards now use scoring version {number}."
    return _switch(slug, number, act, Switch.publication(number), done)


@blueprint.post("/<int:number>/rollback")
@organizers_only(Role.EDITOR)
def roll_back(slug: str, number: int) -> ResponseReturnValue:
    """Make an earlier version live again, or prepare it again if submissions lack scores."""

    def act(session: Any, competition: Competition, _version: ScoringVersion, given: dict[str, Any]) -> None:
        reason = request.form.get("reason", "")
        publication.roll_back(session, competition=competition, number=number, reason=reason, **given)

    done = f"All leaderboards use scoring version {number} again."
    return _switch(slug, number, act, Switch.rollback(number), done)


@blueprint.post("/<int:number>/drop")
@organizers_only(Role.EDITOR)
def drop(slug: str, number: int) -> ResponseReturnValue:
    """Drop a version that is being prepared."""
    try:
        with writing() as session:
            _, version = lookups.scoring_version_of(session, slug, number)
            progress = preparation.progress(session, scoring_version_id=version.id)
            preparation.drop(session, scoring_version_id=version.id, actor=actor())
            confirm(drop_question(slug, version, progress))
    except OrganizerError as error:
        if wants_json():
            raise
        return _show(slug, number, problems=[error.message]), status_of(error)
    flash(f"Rescoring cancelled. Scoring version {number} was discarded. The leaderboards are unchanged.")
    return redirect(url_for(".index", slug=slug), 303)


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


def _switch(
    slug: str,
    number: int,
    act: Callable[[Any, Competition, ScoringVersion, dict[str, Any]], None],
    switch: Switch,
    done: str,
) -> ResponseReturnValue:
    """Switch the leaderboards to a version once the user has confirmed the displayed changes.

    The action runs before the confirmation is requested, so that its errors are reported first. Requesting
    the confirmation rolls the action back.
    """
    form = PublishForm()
    if wants_to_change():
        return _show(slug, number, form=form)
    # This fills the cache, so that the locked transaction below does not have to compute the difference.
    with reading() as session:
        difference_page.summary(session, *lookups.scoring_version_of(session, slug, number))
    try:
        given = {"amends": form.amends(), "lose_scores": form.lose_scores.data, "actor": actor()}
        with writing() as session:
            competition, version = lookups.scoring_version_of(session, slug, number)
            lookup.lock(session, competition_id=competition.id)
            summary = difference_page.summary(session, competition, version)
            act(session, competition, version, given)
            is_live = competition.live_scoring_version_id == version.id
            if is_live and summary is not None:
                fields = " ".join(f"{field.name} {field.raw_data!r}" for field in form)
                confirm(switch.question(slug, summary, notice=form.notice.data, fields=fields))
    except OrganizerError as error:
        if wants_json():
            raise
        problems = list(getattr(error, "problems", (error.message,)))
        return _show(slug, number, problems=problems, form=form), status_of(error)
    if not is_live:
        done = (
            f"Scoring version {number} is being prepared again to score the submissions that have arrived "
            "since then."
        )
    flash(done)
    return redirect(url_for(".show", slug=slug, number=number), 303)


def _notification(notice: str) -> str:
    """Describe how participants are notified; shown first, because e-mails cannot be recalled."""
    if not current_site().settings.sends_mail():
        return "All participants get a notification."
    if notice.strip():
        return "Every team with scored files gets the message by e-mail."
    return "No e-mail is sent because the message is blank."


def _show(
    slug: str, number: int, *, problems: list[str] | None = None, form: PublishForm | None = None
) -> str:
    with reading() as session:
        now = db.now(session)
        competition, version = lookups.scoring_version_of(session, slug, number)
        progress = ProgressView(preparation.progress(session, scoring_version_id=version.id, now=now))
        gaps = difference.gaps(session, competition=competition, version=version)
        versions = difference.versions_of(session, competition=competition, version=version)
        view = CompetitionView(competition, now)
        days = grants.choice(competition, now=now)
    is_preparing = version.state is ScoringVersionState.PREPARING
    if form is None:
        form = PublishForm(None, notice=suggested_notice(version, view.title) if is_preparing else "")
    return render_template(
        "rescoring/version.html",
        competition=view,
        scoring_version=version,
        progress=progress,
        gaps=gaps,
        versions=versions,
        settings=changed_settings(versions) if versions else [],
        changes=version.solution.report.get("changes"),
        form=form,
        days=days,
        problems=problems or [],
        etag=_status(progress).headers["ETag"],
    )


def _status(progress: ProgressView) -> Response:
    return polled(progress.as_json())
