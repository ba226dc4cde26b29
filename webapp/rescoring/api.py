"""API for rescoring: prepare, compare, publish, roll back, drop."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from flask import flash, redirect, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, OrganizerJob, Role, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules, is_other_file
from grader.services.rescoring import difference as rescoring_difference
from grader.services.rescoring import preparation, publication
from grader.services.solutions import check_jobs
from webapp.http import lookups
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.api import blueprint
from webapp.http.confirmation import FIELD, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Confirmation
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.site import current_site
from webapp.rescoring import answers, pages, version_page
from webapp.rescoring.answers import (
    DifferenceAnswer,
    MetricInUse,
    MetricRequest,
    PublicationRequest,
    RescoringRequest,
    RollbackRequest,
    ScoringVersionDetails,
    ScoringVersionList,
    VersionStarted,
)
from webapp.rescoring.version_page import Switch

TAG = "rescoring"
HERE = f"{DESK}/rescoring"
VERSION = f"{HERE}/<int:number>"


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=ScoringVersionList, tag=TAG)
def scoring_versions(slug: str) -> ScoringVersionList:
    """List the scoring versions."""
    with reading() as session:
        found = preparation.list_all(session, competition=competition_of(session, slug))
        return ScoringVersionList(versions=[answers.line(each) for each in found], next=None)


@blueprint.get(f"{HERE}/settings")
@organizers_operation(Role.EDITOR, answers=MetricInUse, tag=TAG)
def rescoring_settings(slug: str) -> MetricInUse:
    """Return the settings that a rescoring may change, and the newest settings check."""
    with reading() as session:
        competition = competition_of(session, slug)
        rules = Rules.of(lookup.live(competition))
        job = check_jobs.newest_settings_check(session, competition=competition)
        return MetricInUse(
            identities=list(rules.identities),
            metric=rules.metric.as_dict(),
            check=organizing.job(job) if job else None,
        )


@blueprint.get(VERSION)
@organizers_operation(Role.VIEWER, answers=ScoringVersionDetails, tag=TAG)
def scoring_version(slug: str, number: int) -> ScoringVersionDetails:
    """Return a scoring version and its progress."""
    with reading() as session:
        return _details(session, *lookups.scoring_version_of(session, slug, number))


@blueprint.get(f"{VERSION}/difference")
@organizers_operation(Role.VIEWER, answers=DifferenceAnswer, tag=TAG)
def rescoring_changes(slug: str, number: int) -> DifferenceAnswer:
    """Return the changes that a version makes to the leaderboards, before and after its publication."""
    table = url_for("api.rescoring_table", slug=slug, number=number)
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        versions = pages.compared(session, competition, version)
        found = current_site().differences.preview(session, competition=competition, versions=versions)
        return answers.difference(found, table=table)


@blueprint.get(f"{VERSION}/submissions.csv")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/csv")
def rescoring_table(slug: str, number: int) -> Any:
    """Return the scores of all submissions under both versions."""
    return pages.send_table(slug, number)


def _details(session: Any, competition: Competition, version: ScoringVersion) -> ScoringVersionDetails:
    progress = preparation.progress(session, scoring_version_id=version.id, now=db.now(session))
    gaps = rescoring_difference.gaps(session, competition=competition, version=version)
    return answers.details(version, progress, gaps)


def _version(act: Act, number: int) -> ScoringVersion:
    return preparation.get(act.session, competition=act.competition, number=number)


RESCORING = Family(
    pages=pages.blueprint,
    tag=TAG,
    refusals=(OrganizerError,),
    show=lambda **shown: (version_page.show if "number" in shown else pages.index)(**shown),
    home=lambda slug, number: url_for("organize_rescoring.show", slug=slug, number=number),
    answers=ScoringVersionDetails,
    answer=lambda act, _outcome, number: _details(act.session, act.competition, _version(act, number)),
    role=Role.EDITOR,
)


def _show_begun(version: ScoringVersion, slug: str) -> ResponseReturnValue:
    if version.state is ScoringVersionState.PREPARING:
        flash(f"Scoring version {version.number} is being prepared. The leaderboards do not change yet.")
    else:
        flash(f"Scoring version {version.number} already uses these inputs.")
    return redirect(url_for("organize_rescoring.show", slug=slug, number=version.number), 303)


def _begun(act: Act, version: ScoringVersion) -> Any:
    url = url_for("api.scoring_version", slug=act.competition.slug, number=version.number)
    return VersionStarted(number=version.number, url=url), 202, {"Location": url}


@RESCORING.action(
    "",
    page="prepare",
    shown=_show_begun,
    answers=VersionStarted,
    answer=_begun,
    status=202,
)
def prepare_rescoring(act: Act, sent: RescoringRequest) -> ScoringVersion:
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
    return preparation.begun(**here, solution=solution) or preparation.prepare(
        **act.parts, solution=solution, reason=sent.reason, changes=changes
    )


@replace(RESCORING, show=pages.settings).action(
    "/settings",
    page="check_settings",
    form=pages.entered_settings,
    done="The settings are being checked against the live solution.",
    home=lambda slug: url_for("organize_rescoring.index", slug=slug),
    **organizing.starts("api.rescoring_settings"),
)
def check_rescoring_settings(act: Act, sent: MetricRequest) -> OrganizerJob:
    """Check changed settings against the live solution."""
    rules = Rules(identities=tuple(sent.identities), metric=sent.metric)
    if is_other_file(Rules.of(lookup.live(act.competition)).metric, rules.metric):
        raise check_jobs.NotAcceptable("Upload the metric.py to change it.")
    return check_jobs.add_settings_check(**act.parts, rules=rules)


def _compute_difference(slug: str, number: int) -> None:
    """Fill the cache, so that the locked transaction does not have to compute the difference."""
    with reading() as session:
        pages.summary(session, *lookups.scoring_version_of(session, slug, number))


def _switched(is_live: bool, number: int) -> str:
    if is_live:
        return f"All leaderboards now use scoring version {number}."
    return (
        f"Scoring version {number} is being prepared again to score the submissions that have arrived since "
        "then."
    )


@RESCORING.action("/<int:number>/publish", page="publish", before=_compute_difference, done=_switched)
def publish_rescoring(act: Act, sent: PublicationRequest, number: int) -> bool:
    """Publish a prepared version on all leaderboards at once, and e-mail the message to all teams."""
    service = partial(publication.publish, act.session, scoring_version_id=_version(act, number).id)
    return _switch(act, sent, Switch.publication(number), service)


@RESCORING.action("/<int:number>/rollback", page="roll_back", before=_compute_difference, done=_switched)
def roll_back_rescoring(act: Act, sent: RollbackRequest, number: int) -> bool:
    """Make an earlier version live again, or prepare it again if submissions lack scores."""
    service = partial(
        publication.roll_back,
        act.session,
        competition=act.competition,
        number=number,
        reason=sent.reason,
    )
    return _switch(act, sent, Switch.rollback(number), service)


def _switch(act: Act, sent: PublicationRequest, switch: Switch, service: Callable[..., Any]) -> bool:
    """Switch the leaderboards to a version once the user has confirmed the changes; return if it is live.

    The service runs before the confirmation is requested, so that its errors are reported first. Requesting
    the confirmation rolls its work back.
    """
    version = _version(act, switch.number)
    summary = pages.summary(act.session, act.competition, version)
    service(notice=sent.notice, lose_scores=sent.lose_scores, actor=act.actor, now=act.now)
    is_live = version.state is ScoringVersionState.LIVE
    if is_live and summary is not None:
        fields = sent.model_dump_json(exclude={FIELD})
        confirm(switch.question(act.competition.slug, summary, notice=sent.notice, fields=fields))
    return is_live


@RESCORING.action(
    "/<int:number>",
    method="DELETE",
    page="drop",
    page_path="/<int:number>/drop",
    done=lambda _, number: (
        f"Rescoring cancelled. Scoring version {number} was discarded. The leaderboards are unchanged."
    ),
    home=lambda slug, **_: url_for("organize_rescoring.index", slug=slug),
    status=204,
)
def drop_rescoring(act: Act, sent: Confirmation, number: int) -> None:
    """Drop a version that is being prepared; the leaderboards stay unchanged."""
    version = _version(act, number)
    progress = preparation.progress(act.session, scoring_version_id=version.id, now=act.now)
    preparation.drop(act.session, scoring_version_id=version.id, actor=act.actor, now=act.now)
    confirm(version_page.drop_question(act.competition.slug, version, progress))
