"""API: make a competition: settings, solution, data files, publication."""

from collections.abc import Mapping
from typing import Any

from flask import Response, g, url_for
from werkzeug.exceptions import Forbidden

from grader import db
from grader.files import ColumnRole
from grader.models import CompetitionState, Role
from grader.models.competitions import TEXTS
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions import settings as competition_settings
from grader.services.competitions import settings_warnings
from grader.services.competitions.settings_model import FOLLOWING_DATES, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, sentences
from grader.services.data_files import checks as data_checks
from grader.services.data_files import files as data_files
from grader.services.figures import figures
from grader.services.jobs import organizer_jobs
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup import drafts, leak_budget, lifecycle, settings_file
from grader.services.solutions import checks as solution_checks
from grader.services.solutions.canary_rows import CanaryRequest
from grader.services.submissions import benchmark_entries
from webapp.competitions import prose
from webapp.competitions.leaks import leak_budget_answer, safe_step_answer
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint, operation
from webapp.http.context import actor, competition_of, is_shell, reading, require_role, writing
from webapp.http.fields import FileForm
from webapp.http.organizer_operations import (
    DESK,
    Confirmation,
    ConfirmationNeeded,
    Reasoned,
    Started,
    act,
    organizers_operation,
)
from webapp.http.responses import expected_versions
from webapp.http.site import current_site
from webapp.organizers.setup import answers, receiving, solution_page
from webapp.organizers.setup.answers import (
    BaselineForm,
    BenchmarkLine,
    DataAnswer,
    DataFileForm,
    DataFileStored,
    Draft,
    FigureList,
    FigureStored,
    NewCompetition,
    Publication,
    ReleaseRequest,
    RolesRequest,
    SettingsAnswer,
    SettingsChanged,
    SettingsQuery,
    SettingsSent,
    SettingsShown,
    SolutionAnswer,
    SolutionCheck,
    SolutionForm,
)
from webapp.submissions import uploads

TAG = "setup"
SETTINGS = f"{DESK}/settings"
SOLUTION = f"{DESK}/solution"
CHECK = f"{SOLUTION}/<int:job_id>"
DATA = f"{DESK}/data"
FIGURES = f"{DESK}/figures"
STATE = f"{DESK}/state"


class RefusedSettings(InvalidCompetition):
    """Settings that a competition cannot have; each problem names its fields."""

    public_name = "refused_settings"

    def __init__(self, faults: list[Fault]) -> None:
        self._faults = faults
        super().__init__(sentences(faults))

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems, each with the fields that it is about."""
        return {"problems": [each.as_problem() for each in self._faults]}


@blueprint.post("/competitions")
@operation(Scope.ORGANIZE, answers=Draft, status=201, tag=TAG, creates=True)
def create_competition(json: NewCompetition) -> Any:
    """Make a draft, which only its organizers see, new or as a copy of another competition."""
    with writing() as session:
        if not (is_shell() or drafts.may_create(session, user=g.user)):
            raise Forbidden
        owner = names.get_user(session, name=json.owner) if json.owner else None
        g.organizer_role, now = Role.OWNER, db.now(session)  # of what is being made
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
    """Return the settings of a competition, and why some are locked."""
    found = _settings(slug)
    g.version = found["version"]
    return SettingsAnswer(**found)


@blueprint.put(SETTINGS)
@organizers_operation(Role.EDITOR, answers=SettingsChanged, tag=TAG, checks_version=True)
def replace_settings(slug: str, json: SettingsSent, query: SettingsQuery) -> Any:
    """Replace all settings of a competition; what the request does not name gets its default.

    A date of a published competition that has passed or is less than a day away needs `?confirm=true`.
    With `If-Match`, the ETag of the settings, the change is refused (412) if they have changed since.
    """
    return _change(slug, dict(json), is_confirmed=query.confirm)


@blueprint.patch(SETTINGS)
@organizers_operation(Role.EDITOR, answers=SettingsChanged, tag=TAG, checks_version=True)
def change_settings(slug: str, json: SettingsSent, query: SettingsQuery) -> Any:
    """Change some settings of a competition; what the request does not name stays as it is.

    A date of a published competition that has passed or is less than a day away needs `?confirm=true`.
    With `If-Match`, the ETag of the settings, the change is refused (412) if they have changed since.
    """
    sent = {name: getattr(json, name) for name in json.model_fields_set}
    return _change(slug, sent, is_confirmed=query.confirm)


@blueprint.get(f"{DESK}/settings.toml")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="application/toml")
def settings_text(slug: str) -> Response:
    """Return the settings as a file for `fairboard competition create` and `apply`."""
    with reading() as session:
        found = competition_settings.of(competition_of(session, slug))
    return Response(settings_file.write(slug, found), mimetype="application/toml")


@blueprint.post(f"{SETTINGS}/metric/<int:job_id>/accept")
@organizers_operation(Role.EDITOR, answers=SolutionAnswer, tag=TAG)
def accept_metric(slug: str, job_id: int) -> SolutionAnswer:
    """Score a draft by the identities and the formula of a check of `/rescoring/settings`."""
    act(slug, versions.accept_settings, job_id=job_id)
    return _solution(slug)


@blueprint.get(SOLUTION)
@organizers_operation(Role.VIEWER, answers=SolutionAnswer, tag=TAG)
def organized_solution(slug: str) -> SolutionAnswer:
    """Return the solution in use with its report, and the newest checks."""
    return _solution(slug)


@blueprint.post(SOLUTION)
@organizers_operation(
    Role.EDITOR, answers=Started, status=202, tag=TAG, takes_file=SolutionForm, creates=True
)
def upload_solution(slug: str) -> Any:
    """Upload a solution and have it checked; of a published competition it is a corrected one."""
    job = receiving.add_solution(slug)
    return organizing.started(job, url_for("api.solution_check", slug=slug, job_id=job.id))


@blueprint.get(CHECK)
@organizers_operation(Role.VIEWER, answers=SolutionCheck, tag=TAG)
def solution_check(slug: str, job_id: int) -> SolutionCheck:
    """Return how far the check of a solution is, then its report and the roles of the columns."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = solution_checks.get(session, competition=competition, job_id=job_id)
        return answers.check(competition, job)


@blueprint.post(f"{CHECK}/roles")
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def change_solution_roles(slug: str, job_id: int, json: RolesRequest) -> Any:
    """Check the same file again with other roles of its columns."""
    with writing() as session:
        competition = competition_of(session, slug)
        job = solution_checks.get(session, competition=competition, job_id=job_id)
        found = {each.name: ColumnRole(each.role) for each in answers.check(competition, job).columns}
        again = solution_checks.add_again(
            session,
            competition=competition,
            job=job,
            roles=found | {name: role for name, role in json.roles.items() if name in found},
            canaries=(
                CanaryRequest.of(json.canaries, from_scored=json.canaries_from_scored)
                if json.canaries
                else None
            ),
            actor=actor(),
            now=db.now(session),
        )
    return organizing.started(again, url_for("api.solution_check", slug=slug, job_id=again.id))


@blueprint.post(f"{CHECK}/accept")
@organizers_operation(Role.EDITOR, answers=SolutionAnswer, tag=TAG)
def accept_solution(slug: str, job_id: int) -> SolutionAnswer:
    """Make a checked solution the draft's."""
    act(slug, versions.accept_check, job_id=job_id)
    return _solution(slug)


@blueprint.delete(CHECK)
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def dismiss_solution_check(slug: str, job_id: int) -> Any:
    """Dismiss a check; one under way ends."""
    with writing() as session:
        competition = competition_of(session, slug)
        job = solution_checks.get(session, competition=competition, job_id=job_id)
        organizer_jobs.dismiss(session, job=job, now=db.now(session))
    return "", 204


@blueprint.get(f"{CHECK}/changes.csv")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/csv")
def solution_changes(slug: str, job_id: int) -> Response:
    """Return every value that a corrected solution changes."""
    return solution_page.send_changes(slug, job_id)


@blueprint.get(DATA)
@organizers_operation(Role.VIEWER, answers=DataAnswer, tag=TAG)
def organized_data(slug: str) -> DataAnswer:
    """List the data files with what their checks found, and the benchmarks."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = data_checks.newest(session, competition=competition)
        files = data_files.list_all(session, competition=competition)
        benchmarks = benchmark_entries.list_all(session, competition=competition)
        return DataAnswer(
            files=[answers.data_file(each, data_checks.found_in(each)) for each in files],
            benchmarks=[
                BenchmarkLine(id=each.id, name=each.description, status=each.status) for each in benchmarks
            ],
            is_final=job is None or not organizer_jobs.is_open(job),
            job=organizing.job(job) if job else None,
        )


@blueprint.post(DATA)
@organizers_operation(
    Role.EDITOR, answers=DataFileStored, status=201, tag=TAG, takes_file=DataFileForm, creates=True
)
def upload_data_file(slug: str) -> Any:
    """Upload a data file, in place of one of the same name, and have it checked."""
    name, url = receiving.add_data_file(slug), url_for("api.organized_data", slug=slug)
    return DataFileStored(name=name, url=url), 201, {"Location": url}


@blueprint.delete(f"{DATA}/<name>")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def remove_data_file(slug: str, name: str) -> Any:
    """Remove a data file, so that nobody can download it."""
    act(slug, data_files.remove, name=name)
    return "", 204


@blueprint.post(f"{DATA}/<name>/allow")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def allow_data_file(slug: str, name: str, json: ReleaseRequest) -> Any:
    """Release a data file that its check holds back; `typed` is the `phrase` of the file."""
    act(slug, data_files.allow, name=name, typed=json.typed, reason=json.reason)
    return "", 204


@blueprint.post(f"{DATA}/<name>/check")
@organizers_operation(Role.EDITOR, status=202, answers=DataFileStored, tag=TAG)
def check_data_file(slug: str, name: str) -> Any:
    """Check a data file again."""
    act(slug, data_files.check_again, name=name)
    url = url_for("api.organized_data", slug=slug)
    return DataFileStored(name=name, url=url), 202, {"Location": url}


@blueprint.post(f"{DATA}/baseline")
@organizers_operation(
    Role.EDITOR, answers=BenchmarkLine, status=201, tag=TAG, takes_file=BaselineForm, creates=True
)
def add_baseline(slug: str) -> Any:
    """Enter a file of predictions as a benchmark."""
    entry = receiving.add_baseline(slug).submission
    return BenchmarkLine(id=entry.id, name=entry.description, status=entry.status), 201


@blueprint.get(FIGURES)
@organizers_operation(Role.VIEWER, answers=FigureList, tag=TAG)
def figure_list(slug: str) -> FigureList:
    """List the figures that the texts can show, as `![what it shows](name "caption")`."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = figures.list_all(session, competition=competition)
        return FigureList(figures=[answers.figure(slug, each) for each in found])


@blueprint.post(FIGURES)
@organizers_operation(
    Role.EDITOR, answers=FigureStored, status=201, tag=TAG, takes_file=FileForm, creates=True
)
def upload_figure(slug: str) -> Any:
    """Upload a PNG, JPEG or WebP picture for the texts, in place of one of the same name."""
    name = receiving.add_figure(slug, uploads.received_file())
    url = url_for("competitions.figure", slug=slug, name=name)
    return FigureStored(name=name, url=url), 201, {"Location": url}


@blueprint.delete(f"{FIGURES}/<name>")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def remove_figure(slug: str, name: str) -> Any:
    """Remove a figure; a text that names it says so to its organizers."""
    act(slug, figures.remove, name=name)
    prose.format_saved(slug)
    return "", 204


@blueprint.get(STATE)
@organizers_operation(Role.VIEWER, answers=Publication, tag=TAG)
def organized_state(slug: str) -> Publication:
    """Return the state of a competition, and what keeps a draft from being published."""
    return _publication(slug)


@blueprint.post(f"{STATE}/publish")
@organizers_operation(Role.OWNER, answers=Publication, tag=TAG)
def publish_competition(slug: str, json: Confirmation) -> Publication:
    """Publish a draft. From then on only a rescoring can change its metric or solution."""
    site = current_site()
    entered = act(slug, benchmark_entries.publish, storage=site.storage)
    site.hints.send(entered.job_ids if entered else ())
    return _publication(slug)


@blueprint.post(f"{STATE}/archive")
@organizers_operation(Role.OWNER, answers=Publication, tag=TAG)
def archive_competition(slug: str, json: Reasoned) -> Publication:
    """Archive a competition: it stays readable and takes no files."""
    act(slug, lifecycle.archive, reason=json.reason)
    return _publication(slug)


@blueprint.post(f"{STATE}/unarchive")
@organizers_operation(Role.OWNER, answers=Publication, tag=TAG)
def unarchive_competition(slug: str, json: Reasoned) -> Publication:
    """Bring a competition back from the archive."""
    act(slug, lifecycle.unarchive, reason=json.reason)
    return _publication(slug)


@blueprint.delete(DESK)
@organizers_operation(Role.OWNER, status=204, tag=TAG)
def delete_draft(slug: str, query: Confirmation) -> Any:
    """Delete a draft with everything that is stored for it."""
    act(slug, drafts.delete_draft)
    return "", 204


def _solution(slug: str) -> SolutionAnswer:
    with reading() as session:
        competition = competition_of(session, slug)
        checks = solution_checks.newest(session, competition=competition)
        live = competition.live_scoring_version
        return SolutionAnswer(
            solution=answers.solution_in_use(live) if live else None,
            checks=[answers.check(competition, job) for job in checks],
        )


def _settings(slug: str) -> dict[str, Any]:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = competition_settings.of(competition)
        warnings = [
            *settings_warnings.warnings(competition, now),
        ]
        return {
            "version": competition_settings.version_of(found),
            "settings": SettingsShown.model_construct(**dict(found)),
            "locked": competition_settings.locks(competition, now),
            "dates": {name: getattr(competition, name) for name in FOLLOWING_DATES},
            "warnings": [organizing.fault(each) for each in warnings],
            "safe_step": safe_step_answer(settings_warnings.proposed_step(competition)),
            "leak_budget": leak_budget_answer(leak_budget.of(competition, found, now=now)),
        }


def _change(slug: str, changes: Mapping[str, Any], *, is_confirmed: bool) -> Any:
    with writing() as session:
        competition, now = competition_of(session, slug), db.now(session)
        expected = expected_versions()
        if expected is not None and not competition_settings.has_version(
            session, competition=competition, expected=expected
        ):
            raise competition_settings.ChangedMeanwhile
        if faults := competition_settings.refusals(competition, changes, now):
            raise RefusedSettings(faults)
        changed = competition_settings.change(
            session, competition=competition, changes=changes, actor=actor(), now=now
        )
        doubtful = settings_warnings.to_confirm(competition, changed, now)
        if doubtful and not is_confirmed:
            raise ConfirmationNeeded(doubtful)
    if changed.intersection(TEXTS):
        prose.format_saved(slug)
    found = _settings(slug)
    return SettingsChanged(**found, changed=sorted(changed)), 200, {"ETag": f'"{found["version"]}"'}


def _publication(slug: str) -> Publication:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
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
