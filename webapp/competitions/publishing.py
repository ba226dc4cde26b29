"""Competition state (page and API): publish, archive, unarchive, delete a draft."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import (
    Competition,
    CompetitionState,
    Role,
)
from grader.services.competitions import drafts, lifecycle, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.solutions import data_files
from grader.services.submissions import benchmark_entries
from grader.services.submissions.accepting import NewSubmission
from webapp.competitions import prose, wizard_steps
from webapp.competitions.setup_answers import Draft
from webapp.competitions.views import CompetitionView
from webapp.competitions.wizard_steps import PUBLISHING
from webapp.http import api
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, Sent, Text
from webapp.http.organizer_operations import (
    DESK,
    ConfirmedReason,
    FaultAnswer,
    Reasoned,
    organizers_operation,
)
from webapp.http.site import current_site
from webapp.presentation import formats

blueprint = Blueprint("organize_publishing", __name__, url_prefix="/competitions/<slug>/organize/state")


class Publication(Answer):
    """The state of a competition, the items that a draft lacks for publication, and suggestions."""

    state: CompetitionState
    missing: list[FaultAnswer]
    suggestions: list[FaultAnswer]
    submission_count: int


class NextStageRequest(Sent):
    """The next stage of a competition."""

    new_slug: Text = ""
    stage_name: Text = ""
    with_data: bool = True


@blueprint.get("")
@organizers_only(Role.VIEWER)
def show(slug: str) -> ResponseReturnValue:
    """Show the checklist of a draft, or the state of a published competition."""
    return _page(slug)


def _page(slug: str, *, problem: Any = None) -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        settings = competition_settings.of(competition)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=PUBLISHING)
        submission_count = drafts.count_submissions(session, competition=competition)
        usual_dates = competition_settings.default_dates(competition, published_at=now)
    return render_template(
        "competitions/publish.html",
        competition=view,
        settings=settings,
        setup=setup,
        problem=problem.message if problem else "",
        entered=request.form,
        token=_delete_question(slug).token_at(url_for("organize_publishing.delete", slug=slug)),
        submission_count=submission_count,
        usual_dates=usual_dates,
        metric=view.metric(),
    )


@api.blueprint.get(f"{DESK}/state")
@organizers_operation(Role.VIEWER, answers=Publication, tag="setup")
def organized_state(slug: str) -> Publication:
    """Return the state of a competition, and the items that a draft lacks for publication."""
    with reading() as session:
        return _publication(session, competition_of(session, slug))


def _delete_question(slug: str) -> Question:
    """Return the question that the checkbox of the form confirms."""
    return Question(
        heading=f"Delete the draft {slug}?",
        sentences=("All its data will be deleted, and its address becomes free.",),
        button="Delete the draft",
        back=url_for("organize_publishing.show", slug=slug),
        is_final=True,
    )


def _publication(session: Any, competition: Competition) -> Publication:
    now = db.now(session)
    is_draft = competition.state is CompetitionState.DRAFT
    lacks_baseline = is_draft and not benchmark_entries.list_all(session, competition=competition)
    missing = lifecycle.missing(competition, now=now) if is_draft else []
    missing += data_files.faults(session, competition=competition) if is_draft else []
    advice = [
        *lifecycle.settings_suggestions(competition_settings.of(competition)),
        *settings_warnings.small_step_warnings(competition),
        *lifecycle.data_suggestions(session, competition=competition, lacks_baseline=lacks_baseline),
    ]
    return Publication(
        state=competition.state,
        missing=[organizing.fault(each) for each in missing],
        suggestions=[organizing.fault(each) for each in advice],
        submission_count=drafts.count_submissions(session, competition=competition),
    )


def _publish_question(act: Act) -> Question:
    """Return the confirmation for publishing a draft."""
    settings = competition_settings.of(act.competition)
    opens, closes = settings.opens_at, settings.closes_at
    when = (
        f"It opens {formats.moment(opens)}"
        if opens is not None and opens > act.now
        else "It opens immediately"
    )
    until = f"closes {formats.moment(closes)}" if closes is not None else "does not close automatically"
    usual = competition_settings.default_dates(act.competition, published_at=act.now)
    entry = settings.entry_deadline or usual.get("entry_deadline")
    return Question(
        heading=f"Publish {settings.title}?",
        sentences=(
            f"{when} and {until}.{f' Entry ends {formats.moment(entry)}.' if entry else ''}",
            "Everyone will be able to see it. Only a rescoring can then change its metric or solution.",
        ),
        button="Publish competition",
        back=url_for("organize_publishing.show", slug=act.competition.slug),
        is_final=True,
    )


STATE = Family(
    pages=blueprint,
    tag="setup",
    refusals=(lifecycle.NotReady, InvalidCompetition),
    # The error is not passed on, because the page itself lists all missing items.
    show=lambda slug, **_: _page(slug),
    home=lambda slug: url_for("organize_publishing.show", slug=slug),
    answers=Publication,
    answer=lambda act, _outcome: _publication(act.session, act.competition),
    role=Role.OWNER,
)


@STATE.action(
    "/publish",
    page="publish",
    done="Competition published.",
    after=lambda _act, entered: current_site().hints.send(entered.job_ids if entered else ()),
)
def publish_competition(act: Act, sent: Confirmation) -> NewSubmission | None:
    """Publish a draft; afterwards, only a rescoring can change its metric or solution."""
    question = _publish_question(act)
    entered = benchmark_entries.publish(act, storage=current_site().storage)
    confirm(question)
    return entered


@STATE.action("/archive", page="archive", done="Competition archived.")
def archive_competition(act: Act, sent: ConfirmedReason) -> None:
    """Archive a competition, which stays readable but accepts no files."""
    lifecycle.archive(act, reason=sent.reason)
    words = "It will stay readable but accept no files. You can unarchive it later."
    back = url_for("organize_publishing.show", slug=act.competition.slug)
    confirm(Question(f"Archive {act.competition.title}?", (words,), "Archive the competition", back))


@STATE.action("/unarchive", page="unarchive", done="Competition unarchived.")
def unarchive_competition(act: Act, sent: Reasoned) -> None:
    """Unarchive a competition."""
    lifecycle.unarchive(act, reason=sent.reason)


def _created(draft: Competition, slug: str) -> ResponseReturnValue:
    flash(f"Created a draft of the stage after {slug}. Add its dates, data files and solution.")
    return redirect(url_for("organize_settings.index", slug=draft.slug), 303)


def _draft(_act: Act, draft: Competition) -> Any:
    url = url_for("api.organized_settings", slug=draft.slug)
    return Draft(slug=draft.slug, title=draft.title, url=url), 201, {"Location": url}


@STATE.action(
    "/next-stage",
    page="next_stage",
    shown=_created,
    answers=Draft,
    answer=_draft,
    status=201,
    after=lambda _act, draft: prose.format_saved(draft.slug),
)
def next_stage(act: Act, sent: NextStageRequest) -> Competition:
    """Create the next stage: a draft with the same settings and organizers, without dates and solution."""
    return drafts.next_stage(act, slug=sent.new_slug, stage_name=sent.stage_name, with_data=sent.with_data)


DRAFT = replace(
    STATE,
    api=DESK,
    refusals=(drafts.NotDraft,),
    show=_page,
    home=lambda **_: url_for("competitions.index"),
)


@DRAFT.action(
    "",
    method="DELETE",
    page="delete",
    page_path="/delete",
    done=lambda slug: f"Draft {slug} deleted.",
    status=204,
)
def delete_draft(act: Act, sent: Confirmation) -> str:
    """Delete a draft with all its data."""
    slug = act.competition.slug
    drafts.delete_draft(act)
    confirm(_delete_question(slug))
    return slug
