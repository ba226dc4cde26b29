"""Settings pages: setup steps, figures, text preview."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from wtforms import Field

from grader import db
from grader.errors import FairboardError
from grader.models import Competition, Role
from grader.models.competitions import TEXTS
from grader.services.competitions import figures, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.figures import Picture
from grader.services.competitions.settings_model import (
    DATES,
    FOLLOWING_DATES,
    KINDS,
    METRIC_IS_FIXED,
    Kind,
)
from grader.services.competitions.settings_problems import Fault, RefusedSettings
from grader.services.rescoring import versions
from webapp.competitions import forms, prose, wizard_steps
from webapp.competitions.forms import SettingsForm, setting_of, settings_of
from webapp.competitions.setup_answers import FigureStored, SettingsRequest
from webapp.competitions.views import CompetitionView
from webapp.competitions.wizard_steps import BY_KEY, STEPS, SettingsStep
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import FileForm
from webapp.http.organizer_operations import DESK
from webapp.solutions import metric_step, receiving, scored_step
from webapp.solutions.metric_step import Saved
from webapp.solutions.receiving import NamedBlob
from webapp.solutions.solution import SolutionAnswer, solution_answer
from webapp.solutions.solution_view import check_status

blueprint = Blueprint("organize_settings", __name__, url_prefix="/competitions/<slug>/organize")
METRIC_STEP = "metric"
STEP = f"/settings/<any({','.join(BY_KEY)}):step>"


@blueprint.get("/settings")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the first settings page."""
    return _page(slug, STEPS[0])


@blueprint.get(STEP)
@organizers_only(Role.VIEWER)
def show(slug: str, step: str) -> ResponseReturnValue:
    """Show the fields of a step, and the reasons why some are locked."""
    return _page(slug, BY_KEY[step])


def show_problem(slug: str, problem: FairboardError | None) -> str:
    """Show the step of the metric with a problem of its file."""
    return _page(slug, BY_KEY[wizard_steps.SCORED], problem=problem)


def entered(act: Act, step: str) -> SettingsRequest:
    """Return the settings entered on a step's page; raise RefusedSettings with all problems at once.

    The service validates the values, because its messages name the fields as the page does.
    """
    competition, before = act.competition, competition_settings.of(act.competition)
    shown = wizard_steps.step_of(step, before)
    report = metric_step.report(act.session, competition) if step == METRIC_STEP else None
    locks = competition_settings.locks(competition, act.now)
    without = {*locks, *(metric_step.UNTICKED if report else ())}
    form = forms.form_of(shown, before, is_sent=True, without=without)
    changes = form.changes(before)
    if report is not None:
        ticks = request.form.getlist("identities")
        changes["identities"] = metric_step.chosen(ticks, before, report)
    if unread := form.errors.keys():
        own = [Fault(sentence, (field.name,)) for field in form for sentence in field.errors]
        faults = competition_settings.refusals(competition, changes, act.now)
        raise RefusedSettings([*own, *(fault for fault in faults if not set(fault.names) & unread)])
    return SettingsRequest.model_construct(**changes)


def saved(outcome: Saved, slug: str, step: str) -> ResponseReturnValue:
    """Show a message and the warnings about the changed settings, and redirect."""
    changed, told = outcome
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        past = settings_warnings.date_warnings_of_change(competition, changed, now)
        joined = "identities" in changed and settings_warnings.joined_names_warnings(competition)
        faulty = any(prose.has_faults(competition, name) for name in changed.intersection(TEXTS))
        words = _past_words(competition, past, now)
    flash(told.words if told else "Saved." if changed else "Nothing was changed.")
    for sentence in words:
        flash(sentence)
    if told is not None and not (told.goes_on and "next" in request.form):
        return redirect(told.url, 303)
    if "next" not in request.form or past or joined or faulty:
        return redirect(url_for("organize_settings.show", slug=slug, step=step), 303)
    return redirect(wizard_steps.next_page(step, slug), 303)


@blueprint.get("/settings/metric/status")
@organizers_only(Role.VIEWER)
def metric_status(slug: str) -> ResponseReturnValue:
    """Return the progress of the check of a draft's new metric settings as JSON."""
    with reading() as session:
        job = metric_step.pending_check(session, competition_of(session, slug))
    return check_status(job).make_conditional(request)


def _past_words(competition: Competition, past: Sequence[Fault], now: datetime) -> list[str]:
    """Return the warnings about past dates; those shown next to a field are only counted."""
    locks = competition_settings.locks(competition, now)
    shown = {fault.sentence for fault in settings_warnings.date_warnings(competition, now)}
    beside = [f for f in past if f.sentence in shown and not any(name in locks for name in f.names)]
    words = [fault.sentence for fault in past if fault not in beside]
    if beside:
        lies = "One date is" if len(beside) == 1 else f"{len(beside)} dates are"
        words.append(f"{lies} in the past. See the consequences below.")
    return words


class Group(NamedTuple):
    """A group of fields on the page: heading, locked fields with reasons, and editable fields."""

    heading: str
    fixed: list[Field]
    reasons: list[str]
    open: list[Field]

    @property
    def are_numbers(self) -> bool:
        """Whether all editable fields are numbers, which have short inputs."""
        return all(KINDS[field.name] in (Kind.COUNT, Kind.LIMIT, Kind.NUMBER) for field in self.open)

    @property
    def are_moments(self) -> bool:
        """Whether all editable fields are dates, which are laid out side by side."""
        return all(KINDS[field.name] is Kind.DATE for field in self.open)


def _groups(
    step: SettingsStep, form: SettingsForm, shown: SettingsForm, locks: Mapping[str, str]
) -> Iterator[Group]:
    """Divide each group's fields into locked and editable ones; `shown` includes locked fields."""
    for heading, all_names in step.groups:
        names = [name for name in all_names if name in form or setting_of(name) in locks]
        reasons = [locks[setting_of(name)] for name in names if name not in form]
        yield Group(
            heading,
            [shown[name] for name in names if name not in form],
            list(dict.fromkeys(reasons)),
            [form[name] for name in names if name in form],
        )


def show_sent(slug: str, step: str, *, problem: FairboardError | None, **_: str) -> str:
    """Render a step's page with the entered values and the problems of an action."""
    return _page(slug, BY_KEY[step], is_sent=True, problem=problem)


def _page(
    slug: str,
    step: SettingsStep,
    *,
    is_sent: bool = False,
    problem: FairboardError | None = None,
    new_figure: str = "",
) -> str:
    is_stale = isinstance(problem, competition_settings.ChangedMeanwhile)
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        settings = competition_settings.of(competition)
        step = wizard_steps.step_of(step.key, settings)
        locks = competition_settings.locks(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=step.key)
        sent = request.form.getlist("identities") if is_sent else None
        ticks = metric_step.of(session, competition, settings, sent=sent) if step.key == METRIC_STEP else None
        report = metric_step.groups_report(session, competition) if step.key == METRIC_STEP else None
        without = {*locks, *(metric_step.UNTICKED if ticks else ())}
        form = forms.form_of(step, settings, is_sent=is_sent, without=without)
        others = form.tell(problem.faults) if isinstance(problem, RefusedSettings) else []
        job = metric_step.pending_check(session, competition) if ticks else None
        entered = {name: form[name].data for name in DATES if name in form} if is_sent else {}
        warnings = settings_warnings.warnings(competition, now, entered=entered)
        proposal = settings_warnings.proposed_step(competition)
        if "feedback" in form and proposal and not is_sent and not settings.feedback.has_step:
            form.feedback_step.data = proposal.step
        view = CompetitionView(competition, now)
        shown = forms.form_of(step, settings) if locks or is_stale else form
        version = competition_settings.version_of(settings, settings_of(step.key))
        if is_sent and not is_stale:
            version = request.form.get("version", version)
        conflicts = None
        if is_stale:
            conflicts = [shown[field.name] for field in form if field.data != shown[field.name].data]
            if ticks and sorted(sent or ()) != sorted(settings.identities or ()):
                conflicts.append(shown["identities"])
        groups = list(_groups(step, form, shown, locks))
        texts = [name for name in step.names if name in form and KINDS[name] is Kind.TEXT]
        known = prose.Texts.of(session, competition) if texts else None
    return render_template(
        "competitions/settings.html",
        previews={name: known.drawn(form[name]._value()) for name in texts} if known else {},
        figures=[(each, prose.figure_url(slug, each)) for each in known.figures] if known else (),
        figure_problem=problem.message if isinstance(problem, figures.InvalidFigure) else "",
        new_figure=new_figure,
        competition=view,
        step=step,
        setup=setup,
        ticks=ticks,
        metrics=scored_step.options() if step.key == wizard_steps.SCORED else {},
        group_lines=metric_step.group_lines(report) if report else (),
        ticks_etag=check_status(job).headers["ETag"] if job else "",
        groups=groups,
        following={
            name: getattr(competition, name) for name in FOLLOWING_DATES if getattr(settings, name) is None
        },
        dates={name: getattr(competition, name) for name in DATES},
        metric_is_fixed=METRIC_IS_FIXED,
        has_metric_file=step.key == wizard_steps.SCORED and receiving.may_upload_metrics(),
        metric_problem="" if problem is None or isinstance(problem, RefusedSettings) else problem.message,
        has_open=any(group.open for group in groups),
        warnings={name: fault.sentence for fault in warnings for name in fault.names},
        form=form,
        problems=others,
        proposals={"feedback_step": proposal.sentence} if proposal else {},
        settings_version=version,
        conflicts=conflicts,
    )


@blueprint.post("/preview")
@organizers_only(Role.EDITOR)
def preview(slug: str) -> ResponseReturnValue:
    """Render the preview of a text as an HTML fragment, without storing it."""
    with reading() as session:
        texts = prose.Texts.of(session, competition_of(session, slug))
    drawn = texts.preview(request.form.get("text", ""))
    return render_template("competitions/preview.html", drawn=drawn)


METRIC = Family(
    pages=blueprint,
    tag="setup",
    refusals=(),
    show=lambda slug, **_: _page(slug, BY_KEY[METRIC_STEP]),
    home=lambda slug, **_: wizard_steps.next_page(METRIC_STEP, slug),
    answers=SolutionAnswer,
    answer=lambda act, _outcome, **_: solution_answer(act.session, act.competition),
    role=Role.EDITOR,
)


@METRIC.action(
    "/settings/metric/<int:job_id>/accept",
    page="accept_metric",
    page_path="/settings/metric/accept/<int:job_id>",
    done="Your new metric settings are now in use.",
)
def accept_metric(act: Act, job_id: int) -> None:
    """Use the identities and metric settings of a check from `/rescoring/settings` for a draft."""
    versions.accept_settings(act, job_id=job_id)


def _show_figures(outcome: Any, slug: str, step: str = "", name: str = "") -> str:
    """Show the page again with the entered values, after its figures have changed."""
    return _page(slug, BY_KEY[step], is_sent=True, new_figure="" if name else outcome)


def _format(act: Act, _outcome: Any) -> None:
    prose.format_saved(act.competition.slug)


FIGURES = Family(
    pages=blueprint,
    api=DESK,
    tag="setup",
    refusals=(figures.InvalidFigure,),
    show=show_sent,
    home=lambda slug, step, **_: url_for("organize_settings.show", slug=slug, step=step),
    role=Role.EDITOR,
)


def _stored(act: Act, name: str) -> Any:
    url = url_for("competitions.figure", slug=act.competition.slug, name=name)
    return FigureStored(name=name, url=url), 201, {"Location": url}


@FIGURES.action(
    "/figures",
    page="upload_figure",
    page_path=f"{STEP}/figures",
    before=receiving.figure,
    shown=_show_figures,
    after=_format,
    answers=FigureStored,
    answer=_stored,
    status=201,
)
def upload_figure(act: Act, sent: FileForm, prepared: tuple[NamedBlob, Picture], **_: str) -> str:
    """Upload a PNG, JPEG or WebP picture for the texts, replacing one with the same name."""
    stored, picture = prepared
    stored.hold(act)
    figures.add(act, name=stored.name, picture=picture, blob=stored.blob)
    return stored.name


@FIGURES.action(
    "/figures/<name>",
    method="DELETE",
    page="remove_figure",
    page_path=f"{STEP}/figures/<name>/remove",
    shown=_show_figures,
    after=_format,
    status=204,
)
def remove_figure(act: Act, name: str, **_: str) -> None:
    """Remove a figure; texts that still include it show an error to organizers."""
    figures.remove(act, name=name)
