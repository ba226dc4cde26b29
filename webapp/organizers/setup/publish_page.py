"""Page to publish a draft: shows what is missing and suggested; publish, archive or delete it."""

from datetime import datetime

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.setup import drafts, leak_budget, lifecycle
from grader.services.submissions import benchmark_entries
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.site import current_site
from webapp.organizers.setup import wizard_steps
from webapp.organizers.setup.wizard_steps import PUBLISHING
from webapp.presentation import formats

blueprint = Blueprint("organize_publishing", __name__, url_prefix="/competitions/<slug>/organize/state")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def show(slug: str) -> ResponseReturnValue:
    """Show the checklist of a draft, or the state of a published competition."""
    return _page(slug)


@blueprint.post("/publish")
@organizers_only(Role.OWNER)
def publish(slug: str) -> ResponseReturnValue:
    """Publish a draft, with the sample submission as its first benchmark."""
    site = current_site()
    try:
        with writing() as session:
            competition, now = competition_of(session, slug), db.now(session)
            settings = competition_settings.of(competition)
            entered = benchmark_entries.publish(
                session, storage=site.storage, competition=competition, actor=actor(), now=now
            )
            confirm(_question(slug, settings, now))
    except lifecycle.NotReady:
        return _page(slug), 409
    site.hints.send(entered.job_ids if entered else ())
    flash("Competition published.")
    return redirect(url_for("organize_publishing.show", slug=slug), 303)


@blueprint.post("/archive")
@organizers_only(Role.OWNER)
def archive(slug: str) -> ResponseReturnValue:
    """Put a competition away, or bring it back."""
    is_back = bool(request.form.get("back"))
    act = lifecycle.unarchive if is_back else lifecycle.archive
    with writing() as session:
        competition, reason = competition_of(session, slug), request.form.get("reason", "")
        act(session, competition=competition, actor=actor(), reason=reason)
        if not is_back:
            words = "It stays readable but accepts no files. You can unarchive it later."
            back = url_for("organize_publishing.show", slug=slug)
            confirm(Question(f"Archive {competition.title}?", (words,), "Archive the competition", back))
    flash("Competition unarchived." if is_back else "Competition archived.")
    return redirect(url_for("organize_publishing.show", slug=slug), 303)


@blueprint.post("/delete")
@organizers_only(Role.OWNER)
def delete(slug: str) -> ResponseReturnValue:
    """Delete a draft with everything that is stored for it."""
    if request.form.get("confirm") != "yes":
        return _page(slug, problem="Nothing was deleted. Tick the box first."), 422
    try:
        with writing() as session:
            drafts.delete_draft(
                session,
                competition=competition_of(session, slug),
                actor=actor(),
                now=db.now(session),
            )
    except (drafts.HasSubmissions, drafts.NotDraft) as error:
        return _page(slug, problem=error.message), 409
    flash(f"The draft {slug} is deleted.")
    return redirect(url_for("competitions.index"), 303)


def _question(slug: str, settings: CompetitionSettings, now: datetime) -> Question:
    """Ask before a draft is published: from then on it is fixed what it is scored by."""
    opens, closes = settings.opens_at, settings.closes_at
    when = (
        f"It opens {formats.moment(opens)}" if opens is not None and opens > now else "It opens immediately"
    )
    until = f"closes {formats.moment(closes)}" if closes is not None else "does not close automatically"
    return Question(
        heading=f"Publish {settings.title}?",
        sentences=(
            f"{when} and {until}.",
            "Everybody will see it, and only a rescoring can change its metric or solution.",
        ),
        button="Publish competition",
        back=url_for("organize_publishing.show", slug=slug),
        is_final=True,
    )


def _page(slug: str, *, problem: str = "") -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        settings = competition_settings.of(competition)
        leaks = leak_budget.of(competition, settings, now=now)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=PUBLISHING)
        submission_count = drafts.count_submissions(session, competition=competition)
    return render_template(
        "setup/publish.html",
        competition=view,
        settings=settings,
        setup=setup,
        problem=problem,
        submission_count=submission_count,
        leaks=leaks,
        metric=view.metric(),
    )
