"""Rescoring (pages and API): versions, difference, settings, publication, rollback."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint, Response, request, url_for

from grader.errors import ErrorKind, OrganizerRefusal
from grader.metrics import registry
from grader.models import Competition, Role, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup, settings_problems
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import NamedMetric, Rules, StoredMetric, is_other_file
from grader.services.competitions.settings_model import Group
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.rescoring import difference, preparation, publication
from grader.services.rescoring.difference import Compared, Preview
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import asked_settings
from grader.text import counted
from webapp.closing import exports
from webapp.competitions import settings_form
from webapp.competitions.settings_form import FORMULA
from webapp.http.confirmation import FIELD, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Confirmation, Sent, Text
from webapp.http.organizer_operations import Job, Started
from webapp.http.site import current_site
from webapp.rescoring import api_models
from webapp.rescoring.api_models import (
    DifferenceAnswer,
    MetricInUse,
    PublicationRequest,
    RescoringRequest,
    RollbackRequest,
    ScoringVersionDetails,
    ScoringVersionLine,
    ScoringVersionList,
    VersionStarted,
)
from webapp.solutions import metrics, receiving
from webapp.surface import Ask, Surface

TAG = "rescoring"
# The settings that a rescoring may change: the identities and the formula of the bias metric, or the options.
OF_BIAS = (Group("Identities in the score", ("identities",)), *FORMULA)
OF_OTHERS = (Group("", ("name", "positive", "cutoff", "decimals", "weight", "reported")),)
blueprint = Blueprint("organize_rescoring", __name__, url_prefix="/competitions/<slug>/organize/rescoring")
RESCORING = Surface(blueprint, tag=TAG, role=Role.VIEWER, acts=Role.EDITOR)


@RESCORING.read("", ScoringVersionList, endpoint="index", page="rescoring/versions.html")
def scoring_versions(ask: Ask) -> ScoringVersionList:
    """List the scoring versions."""
    session, competition = ask.session, ask.competition
    job = check_jobs.newest_settings_check(session, competition=competition)
    ask.state = job and (job.id, job.state, job.progress)
    versions = preparation.list_all(session, competition=competition)
    if ask.is_page:
        version = next((each for each in versions if each.state is ScoringVersionState.PREPARING), None)
        progress = preparation.progress(session, version=version) if version else None
        checks = [
            each
            for each in check_jobs.newest(session, competition=competition)
            if check_jobs.why_not_acceptable(competition, each) is None
        ]
        shown = None if version else job
        ask.shown |= {
            "preparing": version and version.number,
            "is_ready": progress is not None and progress.is_final,
            "checks": checks,
            "settings_check": shown,
            "is_checking": shown is not None and not shown.is_final,
            "settings_changes": shown
            and api_models.changed(lookup.live(competition), asked_settings(shown).rules),
            "chosen": request.values.get("solution", type=int) or (checks[0].id if checks else None),
        }
    return ScoringVersionList(
        versions=[ScoringVersionLine.of(each, solution=each.solution.number) for each in versions], next=None
    )


@replace(RESCORING, role=Role.EDITOR).read(
    "/settings", MetricInUse, endpoint="settings", page="rescoring/metric_settings.html"
)
def rescoring_settings(ask: Ask) -> MetricInUse:
    """Return the settings that a rescoring may change, and the newest settings check."""
    rules = Rules.of(lookup.live(ask.competition))
    if ask.is_page:
        used = competition_settings.of(ask.competition).changed(
            identities=rules.identities, metric=rules.metric
        )
        groups, options, fitting = _groups(rules.metric), metrics.options(), rules.metric.alternatives
        names = [name for group in groups for name in group.names]
        fields = settings_form.fields_of(used, names, is_sent=ask.problem is not None)
        ask.shown |= {
            "groups": groups,
            "metrics": {name: options[name] for name in fitting},
            "has_metric_file": registry.PYTHON in fitting and receiving.may_upload_metrics(),
            "fields": fields,
            "problems": settings_form.tell(fields, ask.problem),
        }
    job = check_jobs.newest_settings_check(ask.session, competition=ask.competition)
    return MetricInUse(
        identities=list(rules.identities),
        metric=rules.metric.as_dict(),
        check=Job.of(job) if job else None,
    )


def _groups(metric: NamedMetric) -> tuple[Group, ...]:
    """Return the fields of a metric's settings that a rescoring may change."""
    return OF_BIAS if metric.takes_identities else OF_OTHERS


@RESCORING.read("/<int:number>", ScoringVersionDetails, endpoint="show", page="rescoring/version.html")
def scoring_version(ask: Ask, number: int) -> ScoringVersionDetails:
    """Return a scoring version and its progress."""
    session, competition = ask.session, ask.competition
    version = preparation.get(session, competition=competition, number=number)
    progress = preparation.progress(session, version=version)
    if ask.is_page:
        is_preparing = version.state is ScoringVersionState.PREPARING
        versions = difference.versions_of(session, competition=competition, version=version)
        notice = api_models.suggested_notice(version, competition.full_title)
        ask.shown |= {
            "effect": None,
            "readers": publication.count_readers(session, competition=competition),
            "settings": api_models.changed(versions.before, Rules.of(versions.after)) if versions else [],
            "form": request.form or {"notice": notice if is_preparing else ""},
        }
        if versions and (progress.is_final or not is_preparing):
            preview = _preview(session, competition, versions, competition.act_number)
            ask.shown |= {
                "effect": api_models.difference(preview, table=""),
                "preview": preview,
                "titles": {each.name: each.heading or each.title for each in Rules.of(version).about.terms},
            }
    return api_models.details(version, progress)


@RESCORING.read("/<int:number>/difference", DifferenceAnswer)
def rescoring_changes(ask: Ask, number: int) -> DifferenceAnswer:
    """Return the changes that a version makes to the leaderboards, before and after its publication."""
    versions = _compared(ask, number)
    preview = _preview(ask.session, ask.competition, versions, ask.competition.act_number)
    return api_models.difference(
        preview, table=url_for("api.rescoring_table", slug=ask.competition.slug, number=number)
    )


@RESCORING.read("/<int:number>/submissions.csv", None, endpoint="table", file="text/csv")
def rescoring_table(ask: Ask, number: int) -> Response:
    """Return the scores of all submissions under both versions as CSV."""
    competition, versions = ask.competition, _compared(ask, number)
    write = partial(difference.submissions_csv, competition=competition, versions=versions)
    name = f"{competition.slug}-submissions-v{versions.before.number}-v{versions.after.number}.csv"
    return exports.stream(write, "text/csv", name)


def _prepared(started: VersionStarted, slug: str) -> tuple[str, str]:
    if started.is_preparing:
        message = f"Scoring version {started.number} is being prepared. The leaderboards do not change yet."
    else:
        message = f"Scoring version {started.number} already uses these inputs."
    return message, scoring_version.url(slug=slug, number=started.number)


@RESCORING.act("", form="prepare", back=scoring_versions, done=_prepared, answers=VersionStarted, status=202)
def prepare_rescoring(act: Act, sent: RescoringRequest) -> VersionStarted:
    """Prepare a rescoring with a checked solution or checked settings, without changing any leaderboard.

    If the same rescoring is already being prepared or was published, its version is returned.
    """
    here: dict[str, Any] = {"session": act.session, "competition": act.competition}
    changes = None
    if sent.settings:
        solution = check_jobs.accepted_settings(**here, job_id=sent.settings)
    else:
        check = check_jobs.get(**here, job_id=sent.solution or 0)
        solution = check_jobs.accepted(**here, job_id=check.id)
        changes = {**(check.result["changes"] or {}), "check": check.id}
    version = preparation.begun(**here, solution=solution) or preparation.prepare(
        act, solution=solution, reason=sent.reason, changes=changes
    )
    return VersionStarted(
        number=version.number,
        url=url_for("api.scoring_version", slug=act.competition.slug, number=version.number),
        is_preparing=version.state is ScoringVersionState.PREPARING,
    )


class MetricRequest(Sent):
    """The identities and the metric settings to check for a rescoring."""

    identities: list[Text]
    metric: StoredMetric

    @staticmethod
    def of_form(act: Act) -> dict[str, Any]:
        """Return the settings entered in the form; raise InvalidCompetition."""
        before = competition_settings.of(act.competition)
        names = [name for group in _groups(before.metric_choice.metric) for name in group.names]
        changes, faults = settings_problems.read(settings_form.changes(before, names))
        if faults:
            raise InvalidCompetition(faults)
        after = before.changed(**changes)
        return {"identities": after.identities or (), "metric": after.metric}


@RESCORING.act(
    "/settings",
    form="check_settings",
    back=rescoring_settings,
    done=lambda _, slug: (
        "The settings are being checked against the live solution.",
        scoring_versions.url(slug=slug),
    ),
    answers=Started,
    status=202,
)
def check_rescoring_settings(act: Act, sent: MetricRequest) -> Started:
    """Check changed settings against the live solution."""
    rules = Rules(identities=tuple(sent.identities), metric=sent.metric)
    if is_other_file(Rules.of(lookup.live(act.competition)).metric, rules.metric):
        raise check_jobs.NotAcceptable("Upload the metric.py to change it.")
    job = check_jobs.add_settings_check(act, rules=rules)
    return Started(id=job.id, url=url_for("api.rescoring_settings", slug=act.competition.slug))


def _compute_difference(slug: str, number: int) -> None:
    """Fill the cache, so that the locked transaction does not have to compute the difference."""
    with reading() as session:
        competition = competition_of(session, slug)
        version = preparation.get(session, competition=competition, number=number)
        summary(session, competition, version, act_number=competition.act_number)


def _switched(made: ScoringVersionDetails, slug: str, number: int) -> tuple[str, str]:
    message = f"All leaderboards now use scoring version {number}."
    if made.state is not ScoringVersionState.LIVE:
        message = (
            f"Scoring version {number} is being prepared again to score the submissions that have arrived "
            "since then."
        )
    return message, scoring_version.url(slug=slug, number=number)


@RESCORING.act(
    "/<int:number>/publish",
    form="publish",
    back=scoring_version,
    before=_compute_difference,
    done=_switched,
)
def publish_rescoring(act: Act, sent: PublicationRequest, number: int) -> ScoringVersionDetails:
    """Publish a prepared version on all leaderboards at once, and e-mail the message to all teams."""
    service = partial(publication.publish, act, number=number)
    return _switch(act, sent, number, f"Publish scoring version {number}", service)


@RESCORING.act(
    "/<int:number>/rollback",
    form="roll_back",
    back=scoring_version,
    before=_compute_difference,
    done=_switched,
)
def roll_back_rescoring(act: Act, sent: RollbackRequest, number: int) -> ScoringVersionDetails:
    """Make an earlier version live again, or prepare it again if submissions lack scores."""
    service = partial(publication.roll_back, act, number=number, reason=sent.reason)
    return _switch(act, sent, number, f"Roll back to scoring version {number}", service)


def _switch(
    act: Act, sent: PublicationRequest, number: int, words: str, service: Callable[..., Any]
) -> ScoringVersionDetails:
    """Switch the leaderboards to a version once the user has confirmed the changes.

    The service runs before the confirmation is requested, so that its errors are reported first. Requesting
    the confirmation rolls its work back. The question is bound to the changes and the request's fields.
    """
    competition = act.competition
    version = preparation.get(act.session, competition=competition, number=number)
    # This act has raised the number, but the difference is the one that was computed before it.
    changes = summary(act.session, competition, version, act_number=competition.act_number - 1)
    service(notice=sent.notice, lose_scores=sent.lose_scores)
    if version.state is ScoringVersionState.LIVE and changes is not None:
        confirm(
            f"{words}?",
            words,
            *changes.sentences(),
            state=f"{changes.digest} {sent.model_dump_json(exclude={FIELD})}",
            can_change=True,
            session=act.session,
        )
    return api_models.details(version, preparation.progress(act.session, version=version))


@RESCORING.act(
    "/<int:number>",
    method="DELETE",
    form="drop",
    back=scoring_version,
    done=lambda _, slug, number: (
        f"Rescoring cancelled. Scoring version {number} was discarded. The leaderboards are unchanged.",
        scoring_versions.url(slug=slug),
    ),
    status=204,
)
def drop_rescoring(act: Act, sent: Confirmation, number: int) -> None:
    """Drop a version that is being prepared; the leaderboards stay unchanged."""
    version = preparation.get(act.session, competition=act.competition, number=number)
    progress = preparation.progress(act.session, version=version)
    preparation.drop(act, number=number)
    effect = (
        f"The scores of {counted(progress.finished, 'submission')} under this version will be discarded. "
        "The leaderboards stay unchanged."
    )
    heading = f"Cancel the rescoring with scoring version {number}?"
    confirm(heading, "Cancel this rescoring", effect, state=f"drop {version.id}")


def _preview(session: Any, competition: Competition, versions: Compared, act_number: int) -> Preview:
    """Return the difference between two versions, from the cache if nothing has changed."""
    preview: Preview = current_site().differences.get(
        difference.state(session, versions=versions, act_number=act_number),
        lambda: difference.preview(session, competition=competition, versions=versions),
    )
    return replace(preview, versions=versions)


def summary(
    session: Any, competition: Competition, version: ScoringVersion, *, act_number: int
) -> Preview | None:
    """Return the changes that making a version live would cause; None if it is live."""
    if competition.live_scoring_version_id == version.id:
        return None
    versions = Compared(lookup.live(competition), version)
    return _preview(session, competition, versions, act_number)


def _compared(ask: Ask, number: int) -> Compared:
    """Return the versions to compare; raise OrganizerRefusal."""
    here: dict[str, Any] = {"session": ask.session, "competition": ask.competition}
    versions = difference.versions_of(**here, version=preparation.get(**here, number=number))
    if versions is None:
        message = f"Scoring version {number} replaced no other version, so there is no difference to show."
        raise OrganizerRefusal("nothing_to_compare", ErrorKind.NOT_FOUND, message)
    return versions
