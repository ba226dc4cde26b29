"""The job that checks changed metric settings against the solution in use."""

from typing import Any

from grader.models import Competition, CompetitionState, ScoringVersion
from grader.services.solutions import assessment, intake
from grader.services.solutions.assessment import LiveSolution
from grader.services.solutions.checks import SettingsCheckParameters
from grader.worker.organizer_jobs.context import Work


def check(work: Work) -> dict[str, Any]:
    """Check the settings that the job names; raise UnusableSolution with all cells that are undefined.

    In a draft whatever stops a solution stops this too.
    """
    asked = SettingsCheckParameters.from_dict(work.parameters)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, asked.live_scoring_version_id)
        described = version.solution.report
        is_draft = session.get_one(Competition, work.competition_id).state is CompetitionState.DRAFT
    work.report_progress(0, 2, "Reading the solution in use")
    assessed = assessment.assess_settings(
        described,
        live=LiveSolution.load(work.storage, version),
        rules=asked.rules,
        is_draft=is_draft,
        tell=lambda words: work.report_progress(1, 2, words),
    )
    stored = intake.keep(work.storage, assessed)
    if is_draft:
        intake.require_no_stop(stored)
    return {"solution": stored.as_dict()} | stored.apart()
