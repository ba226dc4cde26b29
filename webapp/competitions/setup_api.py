"""API for the setup: new competition, settings, figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from flask import Response, g, request, url_for
from werkzeug.exceptions import Forbidden

from grader import db
from grader.models import Competition, Role
from grader.models.competitions import TEXTS
from grader.services.competitions import drafts, figures, settings_file, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import FOLLOWING_DATES, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, RefusedSettings
from grader.services.identity import names
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import rows
from grader.services.rescoring import versions
from webapp.competitions import prose, settings_page
from webapp.competitions import setup_answers as answers
from webapp.competitions.forms import settings_of
from webapp.competitions.settings_page import METRIC_STEP
from webapp.competitions.setup_answers import (
    Draft,
    FigureList,
    NewCompetition,
    SettingsAnswer,
    SettingsChanged,
    SettingsRequest,
    SettingsShown,
)
from webapp.competitions.wizard_steps import SCORED
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint, operation
from webapp.http.confirmation import Question, confirm
from webapp.http.context import actor, competition_of, reading, require_role, writing
from webapp.http.organizer_operations import (
    DESK,
    organizers_operation,
)
from webapp.http.responses import expected_versions
from webapp.presentation import formats
from webapp.solutions import metric_step
from webapp.solutions.metric_step import Saved

TAG = "setup"
# Only pages save by steps, so the API operations do not return the errors of these functions.
_STEPS = MappingProxyType({METRIC_STEP: metric_step.save, SCORED: metric_step.save_scored})
FIGURES = f"{DESK}/figures"


@blueprint.post("/competitions")
@operation(Scope.ORGANIZE, answers=Draft, status=201, tag=TAG)
def create_competition(json: NewCompetition) -> Any:
    """Create a draft, new or as a copy of another competition; only its organizers can see it."""
    with writing() as session:
        if not drafts.may_create(session, user=g.user):
            raise Forbidden
        owner = names.get_user(session, name=json.owner) if json.owner else None
        # The creator owns the new draft.
        g.organizer_role, now = Role.OWNER, db.now(session)
        if json.source:
            source = require_role(session, json.source, Role.EDITOR)
            made: dict[str, Any] = {"source": source, "actor": actor(), "now": now}
            copied: dict[str, Any] = {"title": json.title, "with_data": json.with_data, "owner": owner}
            draft = drafts.clone(session, slug=json.slug, **copied, **made)
            if json.with_solution:
                versions.copy_solution(session, draft=draft, **made)
        else:
            settings = CompetitionSettings().changed(title=json.title)
            if faults := drafts.problems(session, slug=json.slug, settings=settings):
                raise RefusedSettings(faults)
            draft = drafts.create(
                session, slug=json.slug, settings=settings, owner=owner, actor=actor(), now=now
            )
    if json.source:
        prose.format_saved(draft.slug)
    url = url_for("api.organized_settings", slug=draft.slug)
    return Draft(slug=draft.slug, title=draft.title, url=url), 201, {"Location": url}


@blueprint.get(f"{DESK}/settings")
@organizers_operation(Role.VIEWER, answers=SettingsAnswer, tag=TAG)
def organized_settings(slug: str) -> SettingsAnswer:
    """Return the settings of a competition, and the reasons why some are locked."""
    with reading() as session:
        found = _settings(competition_of(session, slug), db.now(session))
    g.version = found["version"]
    return SettingsAnswer(**found)


@blueprint.get(f"{DESK}/settings.toml")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="application/toml")
def settings_text(slug: str) -> Response:
    """Return the settings as a TOML file for `fairboard competition create` and `apply`."""
    with reading() as session:
        found = competition_settings.of(competition_of(session, slug))
    return Response(settings_file.write(slug, found), mimetype="application/toml")


@blueprint.get(FIGURES)
@organizers_operation(Role.VIEWER, answers=FigureList, tag=TAG)
def figure_list(slug: str) -> FigureList:
    """List the figures that texts can include as `![alt text](name "caption")`."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = figures.list_all(session, competition=competition)
        return FigureList(figures=[answers.figure(slug, each) for each in found])


def _settings(competition: Competition, now: datetime) -> dict[str, Any]:
    found = competition_settings.of(competition)
    warnings = settings_warnings.warnings(competition, now)
    return {
        "version": competition_settings.version_of(found),
        "settings": SettingsShown.model_construct(**dict(found)),
        "locked": competition_settings.locks(competition, now),
        "dates": {name: getattr(competition, name) for name in FOLLOWING_DATES},
        "warnings": [organizing.fault(each) for each in warnings],
        "safe_step": settings_warnings.proposed_step(competition),
    }


def _changed(act: Act, saved: Saved) -> Any:
    found = _settings(act.competition, act.now)
    return SettingsChanged(**found, changed=sorted(saved.changed)), 200, {"ETag": f'"{found["version"]}"'}


def _format(act: Act, saved: Saved) -> None:
    if saved.changed.intersection(TEXTS):
        prose.format_saved(act.competition.slug)


def _require_unchanged(act: Act, step: str = "") -> None:
    """Raise ChangedMeanwhile if the settings have changed since the client or the page read them."""
    expected = {request.form["version"]} if "version" in request.form else expected_versions()
    version = competition_settings.version_of(competition_settings.of(act.competition), settings_of(step))
    if expected is not None and version not in expected:
        raise competition_settings.ChangedMeanwhile


SETTINGS = replace(
    settings_page.FIGURES,
    refusals=(RefusedSettings, competition_settings.ChangedMeanwhile),
    answers=SettingsChanged,
    answer=_changed,
)


@SETTINGS.action("/settings", method="PUT", checks_version=_require_unchanged, after=_format)
def replace_settings(act: Act, sent: SettingsRequest) -> Saved:
    """Replace all settings of a competition; settings missing from the request get their defaults.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _save(act, sent.values)


@SETTINGS.action(
    "/settings",
    method="PATCH",
    page="save",
    page_path=settings_page.STEP,
    form=settings_page.entered,
    shown=settings_page.saved,
    checks_version=_require_unchanged,
    after=_format,
)
def change_settings(act: Act, sent: SettingsRequest, step: str = "") -> Saved:
    """Change some settings of a competition; settings missing from the request stay unchanged.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _save(act, sent.changes, step=step)


def _save(act: Act, changes: Mapping[str, Any], *, step: str = "") -> Saved:
    """Change settings; raise RefusedSettings, or Unconfirmed for dates that take effect soon."""
    if faults := competition_settings.refusals(act.competition, changes, act.now):
        raise RefusedSettings(faults)
    if save_step := _STEPS.get(step):
        outcome = save_step(act, changes)
    else:
        outcome = Saved(rows.change_settings(act, changes=changes))
    if doubtful := settings_warnings.to_confirm(act.competition, outcome.changed, act.now):
        confirm(_takes_effect_soon(act, step or "dates", doubtful))
    return outcome


def _takes_effect_soon(act: Act, step: str, doubtful: Sequence[Fault]) -> Question:
    """Return the confirmation for saving dates that have passed or take effect within a day."""
    names = sorted({name for fault in doubtful for name in fault.names})
    reveals = "reveals_at" in names
    return Question(
        heading="Save a date that reveals the private leaderboard now?"
        if reveals
        else "Save a date that takes effect within a day?",
        sentences=(*(fault.sentence for fault in doubtful), f"It is now {formats.moment(act.now)}."),
        button="Save",
        back=url_for("organize_settings.show", slug=act.competition.slug, step=step),
        state=repr([(name, getattr(act.competition, name)) for name in names]),
        is_final=reveals,
        can_change=True,
        problems=[fault.as_problem() for fault in doubtful],
    )
