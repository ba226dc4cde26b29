"""Setup of a competition (page and API): settings in sections, figures, metric.py."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any

from flask import Blueprint, Response, after_this_request, g, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import ConfigDict, Field, field_serializer

from fairboard.interface import Direction
from grader.models import Competition, CompetitionState, Role
from grader.models.competitions import TEXTS
from grader.services.competitions import drafts, figures, settings_file, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.figures import Picture
from grader.services.competitions.settings_model import (
    DATES,
    FOLLOWING_DATES,
    METRIC,
    METRIC_IS_FIXED,
    SECTION_SETTINGS,
    CompetitionSettings,
)
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.competitions.settings_problems import read as read_settings
from grader.services.leaderboards import rows
from grader.services.rescoring import metric_files
from grader.services.solutions import check_jobs, data_files
from grader.text import iso
from webapp.competitions import checklist, prose, settings_form
from webapp.http.confirmation import FIELD, confirm
from webapp.http.context import reading, require_login, require_role
from webapp.http.fields import Answer, Binary, FileForm, Moment, Text
from webapp.http.organizer_operations import FaultAnswer, Job, Stored
from webapp.http.responses import expected_versions
from webapp.presentation import formats
from webapp.solutions import metrics, receiving
from webapp.solutions.receiving import NamedBlob
from webapp.surface import Ask, Surface, after_commit

blueprint = Blueprint("organize_settings", __name__, url_prefix="/competitions/<slug>/organize")
SETUP = Surface(blueprint, tag="setup", role=Role.VIEWER, acts=Role.EDITOR)


class SettingsSent(CompetitionSettings):
    """The settings of a competition. A null limit means no limit; a null date is derived from the close."""

    model_config = ConfigDict(title="CompetitionSettings")

    @field_serializer(*DATES)
    def _iso(self, moment: Any) -> str | None:
        return iso(moment)

    @field_serializer("metric")
    def _with_text_for_infinity(self, metric: Any) -> dict[str, Any]:
        shown: dict[str, Any] = metric.as_dict()
        return shown


class CompetitionSettingsRequest(SettingsSent):
    """The settings of a competition, and the confirmation of dates within the next day."""

    model_config = ConfigDict(title="SettingsRequest")

    confirm: Text = ""

    @staticmethod
    def of_form(act: Act) -> dict[str, Any]:
        """Return the changed settings of the form; raise InvalidCompetition with all problems at once."""
        settings = competition_settings.of(act.competition)
        dates = competition_settings.shown_dates(act.competition, act.now)
        changes = settings_form.changes(settings, dates=dates)
        locks = competition_settings.locks(act.competition, act.now)
        changes = {name: value for name, value in changes.items() if name not in locks}
        saved = SECTION_SETTINGS.get(request.form.get("section", ""), ())
        kept = {name: getattr(settings, name) for name in saved if name not in locks}
        if "closes_at" in kept and "closes_at" in dates:  # the proposed close
            kept["closes_at"] = dates["closes_at"]
        changes = kept | changes
        if faults := competition_settings.refusals(act.competition, changes, act.now):
            raise InvalidCompetition(faults)
        return read_settings(changes)[0] | {FIELD: request.form.get(FIELD, "")}


class SettingsAnswer(Answer):
    """The settings of a competition, with reasons for locks, effective dates and warnings."""

    version: Annotated[str, Field(description="Version of the settings; the ETag starts with it.")]
    settings: SettingsSent
    locked: dict[str, str]
    dates: dict[str, Moment | None]
    warnings: list[FaultAnswer]


class SettingsChanged(SettingsAnswer):
    """The settings after a change, and the names of the changed settings."""

    changed: list[str]
    check: Annotated[int | None, Field(description="The id of the started check of a draft's solution.")]


class FigureLine(Answer):
    """A figure that the texts of a competition can include by name."""

    name: str
    media_type: str
    width: int
    height: int
    size_bytes: int
    url: str


class FigureList(Answer):
    """The figures of a competition's texts."""

    figures: list[FigureLine]


def _page(ask: Ask, shown: SettingsAnswer) -> dict[str, Any]:
    """Return what the setup page shows beside the settings."""
    session, competition, now = ask.session, ask.competition, ask.now
    settings, problem, is_sent = competition_settings.of(competition), ask.problem, "version" in request.form
    metric = settings.metric_choice.metric.name
    sections = settings_form.sections_for(request.form.get(settings_form.METRIC, metric))
    names = [name for section in sections for name in section.names]
    dates = competition_settings.shown_dates(competition, now)
    fields = settings_form.fields_of(settings, names, dates=dates, locks=shown.locked, is_sent=is_sent)
    is_stale = isinstance(problem, competition_settings.ChangedMeanwhile)
    proposal = settings_warnings.proposed_step(competition)
    texts = prose.Texts.of(session, competition)
    return {
        "sections": sections,
        "states": {state.section.key: state for state in checklist.sections(ask)},
        "fields": fields,
        "problems": settings_form.tell(fields, None if is_stale else problem),
        "is_stale": is_stale,
        "settings_version": request.form["version"] if is_sent and not is_stale else shown.version,
        "warnings": {name: each.message for each in shown.warnings for name in each.fields},
        "proposals": {"feedback_step": proposal.sentence} if proposal else {},
        "dates": {name: getattr(competition, name) for name in DATES},
        "metrics": metrics.options(),
        "metric_is_fixed": METRIC_IS_FIXED,
        "has_metric_file": receiving.may_upload_metrics(),
        "previews": {name: texts.drawn(str(fields[name].text)) for name in TEXTS},
        "figures": [
            (each, prose.base(competition.slug) + each.url.removeprefix("figures/")) for each in texts.figures
        ],
        "new_figure": "",
        "check": next(iter(check_jobs.newest(session, competition=competition, limit=1)), None),
        "solution": competition.live_scoring_version and competition.live_scoring_version.solution,
        "data_files": data_files.list_all(session, competition=competition),
        "submission_count": drafts.count_submissions(session, competition=competition),
    }


@SETUP.read("/settings", SettingsAnswer, endpoint="show", page="competitions/setup.html")
def organized_settings(ask: Ask) -> SettingsAnswer:
    """Return the settings of a competition, and the reasons why some are locked."""
    shown = SettingsAnswer(**_settings(ask.competition, ask.now))
    if ask.is_page:
        ask.shown |= _page(ask, shown)
    else:
        g.version = shown.version
    return shown


@SETUP.read("/settings.toml", None, file="application/toml")
def settings_text(ask: Ask) -> Response:
    """Return the settings as a TOML file for `fairboard competition create` and `apply`."""
    settings = competition_settings.of(ask.competition)
    return Response(settings_file.write(ask.competition.slug, settings), mimetype="application/toml")


def _settings(competition: Competition, now: datetime) -> dict[str, Any]:
    settings, warnings = competition_settings.of(competition), settings_warnings.warnings(competition, now)
    return {
        "version": competition_settings.version_of(settings),
        "settings": SettingsSent.model_construct(**dict(settings)),
        "locked": competition_settings.locks(competition, now),
        "dates": {name: getattr(competition, name) for name in FOLLOWING_DATES},
        "warnings": [FaultAnswer(**each.as_problem()) for each in warnings],
    }


def _require_unchanged(act: Act, **_: Any) -> None:
    """Raise ChangedMeanwhile if the settings have changed since the client or the page read them."""
    expected = {request.form["version"]} if "version" in request.form else expected_versions()
    version = competition_settings.version_of(competition_settings.of(act.competition))
    if expected is not None and version not in expected:
        raise competition_settings.ChangedMeanwhile


CHANGES = replace(SETUP, unchanged=_require_unchanged)


@CHANGES.act("/settings", method="PUT", back=organized_settings, answers=SettingsChanged)
def replace_settings(act: Act, sent: CompetitionSettingsRequest) -> SettingsChanged:
    """Replace all settings of a competition; settings missing from the request get their defaults.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _change(act, sent, CompetitionSettings.model_fields)


def _saved(changed: SettingsChanged, slug: str) -> tuple[str, str]:
    """Return the message after saving, and the next page."""
    if changed.check is not None:
        url = url_for("organize_solution.show", slug=slug, job_id=changed.check)
        return "Saved. The solution is being checked with your new metric settings.", url
    return "Saved." if changed.changed else "Nothing was changed.", organized_settings.url(slug=slug)


@CHANGES.act(
    "/settings",
    method="PATCH",
    back=organized_settings,
    form="save",
    done=_saved,
    answers=SettingsChanged,
)
def change_settings(act: Act, sent: CompetitionSettingsRequest) -> SettingsChanged:
    """Change some settings of a competition; settings missing from the request stay unchanged.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _change(act, sent, sent.model_fields_set)


def _change(act: Act, sent: CompetitionSettings, names: Collection[str]) -> SettingsChanged:
    """Change the named settings; check a draft's newest solution again if its metric settings changed."""
    competition, job = act.competition, None
    changes = {name: getattr(sent, name) for name in CompetitionSettings.model_fields if name in names}
    changed = rows.change_settings(act, changes=changes)
    if doubtful := settings_warnings.to_confirm(competition, changed, act.now):
        dates = sorted({name for fault in doubtful for name in fault.names})
        confirm(
            "Save dates that take effect within a day?",
            "Save",
            *(fault.sentence for fault in doubtful),
            f"It is now {formats.moment(act.now)}.",
            state=repr([(name, getattr(competition, name)) for name in dates]),
            can_change=True,
            problems=[fault.as_problem() for fault in doubtful],
        )
    if competition.state is CompetitionState.DRAFT and changed & set(METRIC):
        job = check_jobs.check_choice(act, choice=competition_settings.of(competition).metric_choice)
    if changed.intersection(TEXTS):
        after_commit(prose.format_saved, competition.slug)
    settings = _settings(competition, act.now)
    after_this_request(lambda response: response.headers.set("ETag", f'"{settings["version"]}"') or response)
    return SettingsChanged(**settings, changed=sorted(changed), check=job.id if job else None)


@SETUP.read("/figures", FigureList)
def figure_list(ask: Ask) -> FigureList:
    """List the figures that texts can include as `![alt text](name "caption")`."""
    images = figures.list_all(ask.session, competition=ask.competition)
    address = prose.base(ask.competition.slug)
    return FigureList(figures=[FigureLine.of(each, url=f"{address}{each.name}") for each in images])


@SETUP.act(
    "/figures",
    back=organized_settings,
    form="upload_figure",
    before=receiving.figure,
    done=lambda stored, **_: {"new_figure": stored.name},
    answers=Stored,
    status=201,
)
def upload_figure(act: Act, sent: FileForm, prepared: tuple[NamedBlob, Picture]) -> Stored:
    """Upload a PNG, JPEG or WebP picture for the texts, replacing one with the same name."""
    stored, picture = prepared
    stored.hold(act)
    figures.add(act, name=stored.name, picture=picture, blob=stored.blob)
    after_commit(prose.format_saved, act.competition.slug)
    return Stored(name=stored.name, url=prose.base(act.competition.slug) + stored.name)


@SETUP.act(
    "/figures/<name>",
    method="DELETE",
    back=organized_settings,
    form="remove_figure",
    done=lambda _, **__: {"new_figure": ""},
    status=204,
)
def remove_figure(act: Act, name: str) -> None:
    """Remove a figure; texts that still include it show an error to organizers."""
    figures.remove(act, name=name)
    after_commit(prose.format_saved, act.competition.slug)


@blueprint.post("/preview")
def preview(slug: str) -> ResponseReturnValue:
    """Render the preview of a text as an HTML fragment, without storing it."""
    require_login()
    with reading() as session:
        texts = prose.Texts.of(session, require_role(session, slug, Role.EDITOR))
    return render_template("competitions/preview.html", drawn=texts.preview(request.form.get("text", "")))


UNCHANGED = "The live metric is unchanged until you publish a rescoring with this metric."


class MetricFileForm(FileForm):
    """A metric.py, an optional sample submission, and changed metric parameters."""

    sample: Annotated[Any, Binary] = None
    title: Text = ""
    direction: Direction | None = None
    decimals: Annotated[int | None, Field(ge=0, le=15)] = None
    nonnegative: Annotated[
        bool | None, Field(description="Whether no score is negative, so that groups can be in the score.")
    ] = None
    arguments: Annotated[
        Text, Field(description="Further arguments of `score`, as a JSON object.", examples=['{"beta": 2}'])
    ] = ""


class MetricFileStored(Answer):
    """The hash of a stored metric.py, and the check of the solution with it, if there is a solution."""

    sha256: str
    is_in_use: Annotated[
        bool, Field(description="False for a published competition, whose live metric is unchanged.")
    ]
    job: Job | None


@SETUP.act(
    "/metric-file",
    back=organized_settings,
    form="upload_metric_file",
    before=receiving.metric_file,
    done=lambda stored, **_: (
        "The metric was stored. It is checked with the solution."
        if stored.is_in_use
        else f"The metric is being checked for a rescoring. {UNCHANGED}"
    ),
    answers=MetricFileStored,
)
def upload_metric_file(act: Act, sent: MetricFileForm, prepared: list[NamedBlob]) -> MetricFileStored:
    """Upload a metric written in Python, for a draft or to check it for a rescoring."""
    for each in prepared:
        each.hold(act)
    source, *samples = (each.blob.sha256 for each in prepared)
    job = metric_files.use(
        act,
        source=source,
        sample=samples[0] if samples else None,
        title=sent.title,
        direction=sent.direction,
        decimals=sent.decimals,
        nonnegative=sent.nonnegative,
        arguments=metric_files.arguments_of(sent.arguments) if sent.arguments else None,
    )
    is_draft = act.competition.state is CompetitionState.DRAFT
    return MetricFileStored(sha256=source, is_in_use=is_draft, job=Job.of(job) if job else None)
