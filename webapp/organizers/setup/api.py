"""API for the setup: new competition, settings, figures."""

from collections.abc import Mapping
from typing import Any

from flask import Response, g, url_for
from werkzeug.exceptions import Forbidden

from grader import db
from grader.models import Role
from grader.models.competitions import TEXTS
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions import settings as competition_settings
from grader.services.competitions import settings_warnings
from grader.services.competitions.settings_model import FOLLOWING_DATES, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, sentences
from grader.services.figures import figures
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup import drafts, settings_file
from webapp.competitions import prose
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint, operation
from webapp.http.confirmation import confirm
from webapp.http.context import act_on, actor, competition_of, is_shell, reading, require_role, writing
from webapp.http.organizer_operations import (
    DESK,
    organizers_operation,
)
from webapp.http.responses import expected_versions
from webapp.http.site import current_site
from webapp.organizers.setup import answers, settings_page
from webapp.organizers.setup.answers import (
    Draft,
    FigureList,
    NewCompetition,
    SettingsAnswer,
    SettingsChanged,
    SettingsRequest,
    SettingsShown,
)

TAG = "setup"
SETTINGS = f"{DESK}/settings"
FIGURES = f"{DESK}/figures"


class RefusedSettings(InvalidCompetition):
    """Invalid settings; each problem names its fields."""

    public_name = "refused_settings"

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults
        super().__init__(sentences(faults))

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems, each with the fields that it concerns."""
        return {"problems": [each.as_problem() for each in self._faults]}


@blueprint.post("/competitions")
@operation(Scope.ORGANIZE, answers=Draft, status=201, tag=TAG, creates=True)
def create_competition(json: NewCompetition) -> Any:
    """Create a draft, new or as a copy of another competition; only its organizers can see it."""
    with writing() as session:
        if not (is_shell() or drafts.may_create(session, user=g.user)):
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


@blueprint.get(SETTINGS)
@organizers_operation(Role.VIEWER, answers=SettingsAnswer, tag=TAG)
def organized_settings(slug: str) -> SettingsAnswer:
    """Return the settings of a competition, and the reasons why some are locked."""
    found = _settings(slug)
    g.version = found["version"]
    return SettingsAnswer(**found)


@blueprint.put(SETTINGS)
@organizers_operation(Role.EDITOR, answers=SettingsChanged, tag=TAG, checks_version=True)
def replace_settings(slug: str, json: SettingsRequest) -> Any:
    """Replace all settings of a competition; settings missing from the request get their defaults.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _change(slug, json.values())


@blueprint.patch(SETTINGS)
@organizers_operation(Role.EDITOR, answers=SettingsChanged, tag=TAG, checks_version=True)
def change_settings(slug: str, json: SettingsRequest) -> Any:
    """Change some settings of a competition; settings missing from the request stay unchanged.

    A date of a published competition that has passed or is less than a day away must be confirmed.
    If the ETag of the settings is sent as `If-Match`, the request fails with 412 if they have changed since.
    """
    return _change(
        slug, {name: each for name, each in json.values().items() if name in json.model_fields_set}
    )


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


def _settings(slug: str) -> dict[str, Any]:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = competition_settings.of(competition)
        providers = current_site().settings.providers()
        warnings = settings_warnings.warnings(competition, now, providers=providers)
        return {
            "version": competition_settings.version_of(found),
            "settings": SettingsShown.model_construct(**dict(found)),
            "locked": competition_settings.locks(competition, now),
            "dates": {name: getattr(competition, name) for name in FOLLOWING_DATES},
            "warnings": [organizing.fault(each) for each in warnings],
            "safe_step": settings_warnings.proposed_step(competition),
        }


def _change(slug: str, changes: Mapping[str, Any]) -> Any:
    with writing() as session:
        act = act_on(session, slug)
        competition, now = act.competition, act.now
        expected = expected_versions()
        if expected is not None and not competition_settings.has_version(
            session, competition=competition, expected=expected
        ):
            raise competition_settings.ChangedMeanwhile
        if faults := competition_settings.refusals(competition, changes, now):
            raise RefusedSettings(faults)
        changed = competition_settings.change(**act.parts, changes=changes)
        if doubtful := settings_warnings.to_confirm(competition, changed, now):
            confirm(settings_page.takes_effect_soon(competition, "dates", doubtful, now))
    if changed.intersection(TEXTS):
        prose.format_saved(slug)
    found = _settings(slug)
    return SettingsChanged(**found, changed=sorted(changed)), 200, {"ETag": f'"{found["version"]}"'}
