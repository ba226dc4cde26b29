"""API for rescoring: prepare, compare, publish, roll back, drop."""

from collections.abc import Callable
from typing import Any

from flask import url_for

from grader import db
from grader.models import Competition, Role, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.rescoring import difference as rescoring_difference
from grader.services.rescoring import preparation, publication
from grader.services.solutions import check_jobs
from webapp.http import lookups
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint
from webapp.http.confirmation import FIELD, confirm
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.fields import Confirmation
from webapp.http.organizer_operations import DESK, Started, act, organizers_operation
from webapp.http.site import current_site
from webapp.organizers.rescoring import answers, difference_page, pages, version_page
from webapp.organizers.rescoring.answers import (
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
from webapp.organizers.rescoring.version_page import Switch

TAG = "rescoring"
HERE = f"{DESK}/rescoring"
VERSION = f"{HERE}/<int:number>"
TABLES = {
    "submissions": difference_page.submissions_csv,
    "teams": difference_page.teams_csv,
    "selections": difference_page.selections_csv,
}


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=ScoringVersionList, tag=TAG)
def scoring_versions(slug: str) -> ScoringVersionList:
    """List the scoring versions."""
    with reading() as session:
        found = preparation.list_all(session, competition=competition_of(session, slug))
        return ScoringVersionList(versions=[answers.line(each) for each in found], next=None)


@blueprint.post(HERE)
@organizers_operation(Role.EDITOR, answers=VersionStarted, status=202, tag=TAG, creates=True)
def prepare_rescoring(slug: str, json: RescoringRequest) -> Any:
    """Prepare a rescoring with a checked solution or checked settings, without changing any leaderboard.

    If the same rescoring is already being prepared or was published, its version is returned.
    """
    with writing() as session:
        competition = competition_of(session, slug)
        solution, changes = pages.checked_solution(
            session, competition, solution_check=json.solution or 0, settings_check=json.settings
        )
        version = preparation.begun(session, competition=competition, solution=solution)
        if version is None:
            version = preparation.prepare(
                session,
                competition=competition,
                solution=solution,
                reason=json.reason,
                changes=changes,
                actor=actor(),
            )
    return _started(slug, version.number)


@blueprint.get(f"{HERE}/settings")
@organizers_operation(Role.EDITOR, answers=MetricInUse, tag=TAG)
def rescoring_settings(slug: str) -> MetricInUse:
    """Return the settings that a rescoring may change, and the newest settings check."""
    with reading() as session:
        competition = competition_of(session, slug)
        rules = Rules.from_dict(lookup.live(competition).metric_settings)
        job = check_jobs.newest_settings_check(session, competition=competition)
        return MetricInUse(
            identities=list(rules.identities),
            metric=rules.metric.as_dict(),
            check=organizing.job(job) if job else None,
        )


@blueprint.post(f"{HERE}/settings")
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG, creates=True)
def check_rescoring_settings(slug: str, json: MetricRequest) -> Any:
    """Check changed settings against the live solution."""
    rules = Rules(identities=tuple(json.identities), metric=json.metric)
    job = act(slug, check_jobs.add_settings_check, rules=rules)
    return organizing.started(job, url_for("api.rescoring_settings", slug=slug))


@blueprint.get(VERSION)
@organizers_operation(Role.VIEWER, answers=ScoringVersionDetails, tag=TAG)
def scoring_version(slug: str, number: int) -> ScoringVersionDetails:
    """Return a scoring version and its progress."""
    return _version(slug, number)


@blueprint.get(f"{VERSION}/difference")
@organizers_operation(Role.VIEWER, answers=DifferenceAnswer, tag=TAG)
def rescoring_changes(slug: str, number: int) -> DifferenceAnswer:
    """Return the changes that a version makes to the leaderboards, before and after its publication."""
    tables = {name: url_for("api.rescoring_table", slug=slug, number=number, table=name) for name in TABLES}
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        versions = difference_page.compared(session, competition, version)
        found = current_site().differences.preview(session, competition=competition, versions=versions)
        return answers.difference(found, tables=tables)


@blueprint.get(f"{VERSION}/<any(submissions, teams, selections):table>.csv")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/csv")
def rescoring_table(slug: str, number: int, table: str) -> Any:
    """Return all submissions, teams or selections under both versions."""
    return TABLES[table](slug=slug, number=number)


@blueprint.post(f"{VERSION}/publish")
@organizers_operation(Role.EDITOR, answers=ScoringVersionDetails, tag=TAG)
def publish_rescoring(slug: str, number: int, json: PublicationRequest) -> ScoringVersionDetails:
    """Publish a prepared version on all leaderboards at once, and e-mail the message to every team."""

    def publish(session: Any, _competition: Competition, version: ScoringVersion, **given: Any) -> None:
        publication.publish(session, scoring_version_id=version.id, **given)

    _switch(slug, number, json, publish, Switch.publication(number))
    return _version(slug, number)


@blueprint.post(f"{VERSION}/rollback")
@organizers_operation(Role.EDITOR, answers=ScoringVersionDetails, tag=TAG)
def roll_back_rescoring(slug: str, number: int, json: RollbackRequest) -> ScoringVersionDetails:
    """Make an earlier version live again, or prepare it again if submissions lack scores."""

    def roll_back(session: Any, competition: Competition, _version: ScoringVersion, **given: Any) -> None:
        publication.roll_back(session, competition=competition, number=number, reason=json.reason, **given)

    _switch(slug, number, json, roll_back, Switch.rollback(number))
    return _version(slug, number)


@blueprint.delete(VERSION)
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def drop_rescoring(slug: str, number: int, json: Confirmation) -> Any:
    """Drop a version that is being prepared; the leaderboards stay unchanged."""
    with writing() as session:
        _, version = lookups.scoring_version_of(session, slug, number)
        progress = preparation.progress(session, scoring_version_id=version.id)
        preparation.drop(session, scoring_version_id=version.id, actor=actor())
        confirm(version_page.drop_question(slug, version, progress))
    return "", 204


def _switch(
    slug: str, number: int, json: PublicationRequest, service: Callable[..., None], switch: Switch
) -> ScoringVersion:
    """Switch the leaderboards to a version once the client has confirmed the changes.

    The service runs before the confirmation is requested, so that its errors are reported first. Requesting
    the confirmation rolls its work back.
    """
    # This fills the cache, so that the locked transaction below does not have to compute the difference.
    with reading() as session:
        difference_page.summary(session, *lookups.scoring_version_of(session, slug, number))
    with writing() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        lookup.lock(session, competition_id=competition.id)
        summary = difference_page.summary(session, competition, version)
        service(
            session, competition, version, amends=json.amends(), lose_scores=json.lose_scores, actor=actor()
        )
        if version.state is ScoringVersionState.LIVE and summary is not None:
            fields = json.model_dump_json(exclude={FIELD})
            confirm(switch.question(slug, summary, notice=json.notice, fields=fields))
        return version


def _started(slug: str, number: int) -> Any:
    url = url_for("api.scoring_version", slug=slug, number=number)
    return VersionStarted(number=number, url=url), 202, {"Location": url}


def _version(slug: str, number: int) -> ScoringVersionDetails:
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        progress = preparation.progress(session, scoring_version_id=version.id, now=db.now(session))
        gaps = rescoring_difference.gaps(session, competition=competition, version=version)
        return answers.details(version, progress, gaps)
