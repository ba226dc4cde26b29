"""Kaggle protocol for organizers: creation, data, solution, launch, hosts, settings."""

from collections.abc import Mapping
from typing import Any

from flask import g
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, CompetitionState, EntryMode, OrganizerJob, Role
from grader.services.accounts.api_tokens import OtherCompetition, Scope
from grader.services.competitions import acting, organizers, pauses, phases
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.data_files import files as data_files
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup import drafts
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import CheckParameters, UploadedFile
from grader.services.submissions import benchmark_entries
from grader.visibility import Phase
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import BadRequest
from webapp.http.parameters import Unreadable
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import (
    COMPETITIONS,
    SentFields,
    asked_time,
    call,
    page_address,
    time_text,
)
from webapp.kaggle_protocol.uploads import held_upload
from webapp.organizers.setup.solution_view import CheckView

PAUSED = "An organizer has paused submissions."
PAUSE = "disableSubmissions"
TEXTS = {"title": "title", "briefDescription": "overview"}
TIMES = {
    "deadline": "closes_at",
    "teamMergerExplicitDeadline": "merger_deadline",
    "prohibitNewEntrantsExplicitDeadline": "entry_deadline",
}


class Unsettable(ParticipantError):
    """An operation that this command does not support; the message names the alternative."""

    public_name = "unsettable"


class MayNotCreate(ParticipantError):
    """A user without the right to create competitions."""

    public_name = "may_not_create"
    kind = ErrorKind.FORBIDDEN
    message = (
        "Only administrators and competition owners can create competitions. Ask the operators of this site."
    )


def organized(session: Any, sent: SentFields, role: Role) -> Competition:
    """Return the competition of a call; raise NotOrganizer for users below this role."""
    competition = competition_of(session, sent.text("competitionName"))
    organizers.require(session, competition=competition, user=g.user, role=role)
    return competition


def act_on(session: Any, sent: SentFields, role: Role) -> Act:
    """Lock the competition of a call for an action; raise NotOrganizer."""
    return acting.begin(session, competition=organized(session, sent, role), actor=actor())


@call(COMPETITIONS, "CreateCompetition", Scope.ORGANIZE)
def create_competition(sent: SentFields) -> ResponseReturnValue:
    """Create a draft; unless its privacy is public, organizers must admit each participant."""
    is_open = sent.text("privacy").upper() in ("", "PUBLIC")
    settings = CompetitionSettings().changed(
        title=sent.text("title").strip(),
        overview=sent.text("briefDescription"),
        entry_mode=EntryMode.OPEN if is_open else EntryMode.APPROVAL,
    )
    if sent.flag("hackathon", default=False) or sent.number("cloneCompetitionId"):
        raise Unsettable("Fairboard has no hackathons. To copy a competition, use the New competition page.")
    with writing() as session:
        if not drafts.may_create(session, user=g.user):
            raise MayNotCreate
        if g.token.competition_id is not None:
            raise OtherCompetition(g.token)
        g.organizer_role = Role.OWNER  # owner of the new draft, who may see its problems
        draft = drafts.create(
            session, slug=sent.text("slug").strip(), settings=settings, actor=actor(), now=db.now(session)
        )
    url = page_address("organize_settings.index", slug=draft.slug)
    return {"id": draft.id, "ref": draft.slug, "url": url}


@call(COMPETITIONS, "CreateCompetitionData", Scope.ORGANIZE)
def create_competition_data(sent: SentFields) -> ResponseReturnValue:
    """Replace all data files of a competition, as Kaggle does; on an error, nothing changes."""
    if sent.text("competitionDatabundleType").upper().endswith("RERUN"):
        raise Unsettable("Fairboard does not support reruns. Omit `--rerun`.")
    with writing() as session:
        act = act_on(session, sent, Role.EDITOR)
        files, kept = _sent_files(sent), set()
        for name, token in files.items():
            _, blob = held_upload(session, token)
            file = data_files.add(**act.parts, name=name, blob=blob)
            kept.add(file.name)
        for file in data_files.list_all(session, competition=act.competition):
            if file.name not in kept:
                data_files.remove(act, name=file.name)
    url = page_address("organize_data.index", slug=act.competition.slug)
    return {"url": url, "databundleId": act.competition.id, "databundleVersionId": len(kept)}


@call(COMPETITIONS, "CreateCompetitionSolution", Scope.ORGANIZE)
def create_competition_solution(sent: SentFields) -> ResponseReturnValue:
    """Start the check of an uploaded solution; the roles of its columns are guessed."""
    with writing() as session:
        act = act_on(session, sent, Role.EDITOR)
        upload, blob = held_upload(session, sent.text("blobToken"))
        check_jobs.add(**act.parts, file=UploadedFile.of(upload.name, blob))
    return {}


@call(COMPETITIONS, "GetCompetitionSolutionStatus", Scope.ORGANIZE)
def get_competition_solution_status(sent: SentFields) -> ResponseReturnValue:
    """Return the state of the newest solution: pending, with problems, checked, or accepted."""
    with reading() as session:
        competition = organized(session, sent, Role.VIEWER)
        newest = check_jobs.newest(session, competition=competition, limit=1)
        if newest:
            return _checked(newest[0])
    version = competition.live_scoring_version
    if version is None:
        return {"ready": False}
    solution = version.solution
    return {"ready": True, "solutionInfo": _counts(solution.public_row_count, solution.private_row_count)}


@call(COMPETITIONS, "LaunchCompetition", Scope.ORGANIZE)
def launch_competition(sent: SentFields) -> ResponseReturnValue:
    """Publish a draft with its newest checked solution, and open it now or at the given time.

    For a competition that is already scheduled, this only changes the opening.
    """
    opening = asked_time(sent, "futureTime")
    site = current_site()
    with writing() as session:
        act = act_on(session, sent, Role.OWNER)
        is_published = act.competition.state is CompetitionState.PUBLISHED
        is_scheduled = is_published and phases.phase(act.competition, act.now) is Phase.SCHEDULED
        if not is_scheduled:
            _accept_newest(act)
    # This needs a separate transaction: accepting the solution queues a check of the files against it.
    with writing() as session:
        act = act_on(session, sent, Role.OWNER)
        is_later = act.competition.opens_at is not None and act.competition.opens_at > act.now
        if opening is not None or is_later:
            competition_settings.change(act, changes={"opens_at": opening or act.now})
        entered = None
        if not is_scheduled:
            entered = benchmark_entries.publish(act, storage=site.storage)
    site.hints.send(entered.job_ids if entered else ())
    return {}


@call(COMPETITIONS, "ListCompetitionHosts", Scope.ORGANIZE)
def list_competition_hosts(sent: SentFields) -> ResponseReturnValue:
    """Return the organizers, for organizers."""
    with reading() as session:
        competition = organized(session, sent, Role.VIEWER)
        hosts = organizers.list_all(session, competition=competition)
        url = page_address("organize_organizers.index", slug=competition.slug)
    return {
        "hosts": [
            {
                "id": each.user_id,
                "userName": each.user.name,
                "displayName": f"{each.user.name} ({each.role})",
                "profileUrl": url,
            }
            for each in hosts
        ]
    }


@call(COMPETITIONS, "AddCompetitionHost", Scope.ORGANIZE)
def add_competition_host(sent: SentFields) -> ResponseReturnValue:
    """Make a user an editor of the competition."""
    with writing() as session:
        act = act_on(session, sent, Role.OWNER)
        user = names.get_user(session, name=sent.text("userName"))
        organizers.add(**act.parts, user=user, role=Role.EDITOR)
    return {}


def _sent_files(sent: SentFields) -> dict[str, str]:
    """Return the files' tokens by name; raise an error for folders and duplicate names."""
    files: dict[str, str] = {}
    for each in sent.each_of("files"):
        name, token = each.text("name"), each.text("token")
        if "/" in name or "\\" in name:
            raise Unsettable(
                f"{name}: data files cannot be in folders. Put all files into one folder, or pack the folder "
                "into one ZIP file."
            )
        if name in files:
            raise Unreadable("files", name, "files with different names")
        files[name] = token
    if not files:
        raise BadRequest("The request contains no files.")
    return files


def _accept_newest(act: Act) -> None:
    """Accept a draft's newest checked solution if it is not accepted yet."""
    competition = act.competition
    newest = check_jobs.newest(act.session, competition=competition, limit=1)
    if competition.state is not CompetitionState.DRAFT or not newest or _is_accepted(competition, newest[0]):
        return
    versions.accept_check(act, job_id=newest[0].id)


def _is_accepted(competition: Competition, job: OrganizerJob) -> bool:
    """Return whether the live solution is the one stored by this check."""
    version = competition.live_scoring_version
    stored = (job.result or {}).get("solution")
    return bool(version and stored and stored["prepared_sha256"] == version.solution.prepared_sha256)


def _checked(job: OrganizerJob) -> dict[str, Any]:
    view, report = CheckView(job), (job.result or {}).get("report") or {}
    parameters = CheckParameters.from_dict(job.parameters)
    fields: dict[str, Any] = {
        "ready": view.is_usable,
        "solutionInfo": {
            "fileName": parameters.file.name,
            "fileSizeBytes": parameters.file.size_bytes,
            "uploadDate": time_text(job.created_at),
            **_split_counts(report),
        },
        "columnMapping": {column.name: column.role for column in view.columns},
        "rowIdColumnName": next((each.name for each in view.columns if each.role == "id"), ""),
        "requiredMetricColumns": [{"name": "prediction", "dataType": "float"}],
    }
    if not view.is_open and not view.is_usable:
        fields["setupError"] = " ".join(view.problems) or f"The check is {view.state}."
    elif view.is_open:
        fields["ready"] = False
    return fields


def _split_counts(report: Mapping[str, Any]) -> dict[str, int]:
    splits = report.get("splits") or {}
    return _counts(*(int((splits.get(name) or {}).get("rows", 0)) for name in ("public", "private")))


def _counts(public_rows: int, private_rows: int) -> dict[str, int]:
    return {
        "totalRows": public_rows + private_rows,
        "publicRows": public_rows,
        "privateRows": private_rows,
    }


@call(COMPETITIONS, "GetCompetitionSettings", Scope.ORGANIZE)
def get_competition_settings(sent: SentFields) -> ResponseReturnValue:
    """Return the settings of a competition, for organizers."""
    with reading() as session:
        return _told(organized(session, sent, Role.VIEWER))


@call(COMPETITIONS, "UpdateCompetitionSettings", Scope.ORGANIZE)
def update_competition_settings(sent: SentFields) -> ResponseReturnValue:
    """Change the settings in the mask, and return all settings; missing values are reset.

    Raises Unsettable for settings that this site does not have or that must be set elsewhere.
    """
    new, names = sent.within("settings"), _masked(sent.text("updateMask"))
    with writing() as session:
        act = act_on(session, sent, Role.EDITOR)
        competition, shown = act.competition, _told(act.competition)
        _require_settable(shown, new, names)
        changes: dict[str, Any] = {TEXTS[name]: new.text(name) for name in names if name in TEXTS}
        # The command reads and sends whole seconds, but stored times are finer.
        times = {name: asked_time(new, name) for name in names if name in TIMES}
        changes |= {TIMES[name]: time for name, time in times.items() if time_text(time) != shown[name]}
        competition_settings.change(act, changes=changes)
        if PAUSE in names:
            _pause(act, is_wanted=new.flag(PAUSE, default=False))
        session.refresh(competition)
        return _told(competition)


def _masked(mask: str) -> list[str]:
    return [name.strip() for name in mask.split(",") if name.strip()]


def _require_settable(shown: Mapping[str, Any], new: SentFields, names: list[str]) -> None:
    """Raise Unsettable if a setting that cannot be set here would change."""
    refused = [
        name
        for name in names
        if name not in (*TEXTS, *TIMES, PAUSE) and (new.value(name) or None) != (shown.get(name) or None)
    ]
    if refused:
        raise Unsettable(
            f"{', '.join(refused)} cannot be set with this command. It can set the title, the description "
            "and the deadlines, and pause submissions. Set the metric, the limits, the entry, the feedback "
            "and the reveal on the Setup pages or with `fairboard competition apply`."
        )


def _pause(act: Act, *, is_wanted: bool) -> None:
    if is_wanted and act.competition.paused_at is None:
        pauses.pause(act, message=PAUSED)
    if not is_wanted and act.competition.paused_at is not None:
        pauses.resume(act)


def _told(competition: Competition) -> Mapping[str, Any]:
    """Return all settings in Kaggle's format; features that do not exist here are off."""
    return {
        "competitionName": competition.slug,
        **{name: getattr(competition, setting) for name, setting in TEXTS.items()},
        **{name: time_text(getattr(competition, setting)) for name, setting in TIMES.items()},
        PAUSE: competition.paused_at is not None,
        "rulesRequired": bool(competition.rules),
        "hasLeaderboard": True,
        "hasScripts": False,
        "onlyAllowKernelSubmissions": False,
        "finalLeaderboardHasBeenVerified": competition.revealed_at is not None,
    }
