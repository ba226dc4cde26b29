"""Measurement jobs: comparisons of two submissions, and standard errors of counted files."""

import math
import time
from collections.abc import Callable, Collection
from typing import Any

from fairboard.interface import UnsuitablePredictions
from fairboard.measured import Measured, paired_difference
from grader.files import FileRejected
from grader.metrics.python_metric import MetricFailed
from grader.models import Competition, ScoringVersion, Split, Submission
from grader.services.competitions import lookup
from grader.services.leaderboards import standard_errors
from grader.services.solutions import intake
from grader.storage.stores import BlobDamaged, BlobMissing
from grader.worker.calculator import PreparedSolution, encoded_file
from grader.worker.organizer_jobs.context import Work
from grader.worker.rank_cache import RankCache

STORE_SECONDS = 2.0
UNREADABLE = (BlobDamaged, BlobMissing, FileRejected, MetricFailed, UnsuitablePredictions)


def _measurer(
    work: Work, version: ScoringVersion, splits: Collection[Split]
) -> Callable[[Split, str], Measured | None]:
    """Return a function for the score of a file with the influences on it.

    The result is None if the score cannot be computed again.
    """
    with work.database.read() as session:
        names = intake.other_labels(session, competition_id=work.claim.competition_id)
    settings, ranks = version.metric_settings, RankCache.of(work.settings)
    solution = PreparedSolution.of(work.storage, settings, version.solution, measures=splits)

    def measured(split: Split, sha256: str) -> Measured | None:
        if solution.checker is not None:
            solution.checker.begin()
        try:
            file = encoded_file(work.storage, ranks, solution, sha256, names)
            return solution.measure[split](file.encoded)
        except UNREADABLE:
            return None

    return measured


def compare(work: Work) -> dict[str, Any]:
    """Compare two submissions on both splits; a difference with an unknown error is missing."""
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, work.claim.parameters["scoring_version_id"])
        _ = version.solution  # loads the solution while the session is open
        hashes = [
            session.get_one(Submission, work.claim.parameters[name]).sha256
            for name in ("submission_id", "baseline_id")
        ]
    measured = _measurer(work, version, list(Split))
    pairs = {split: [measured(split, each) for each in hashes] for split in Split}
    return {
        split.value: difference
        for split, (one, other) in pairs.items()
        if one and other and (difference := _difference(one, other, version))
    }


def _difference(one: Measured, other: Measured, version: ScoringVersion) -> dict[str, Any] | None:
    difference = paired_difference(one, other)
    if difference is None or not math.isfinite(difference.margin):
        return None
    units = version.scale.difference(*(version.scale.units(each.score) for each in (one, other)))
    return {"units": units, "standard_error": difference.standard_error, "margin": difference.margin}


def fill_in_errors(work: Work) -> dict[str, Any]:
    """Compute the missing standard errors of a competition, and store them repeatedly.

    Each transaction replaces the leaderboards' content token, so there is not one for every file.
    """
    with work.database.read() as session:
        missing = standard_errors.missing(session, competition_id=work.claim.competition_id)
        if not missing:
            return {}
        version = lookup.live(session.get_one(Competition, work.claim.competition_id))
        _ = version.solution  # loads the solution while the session is open
    measured = _measurer(work, version, {each.split for each in missing})
    computed, stored_at = dict[int, dict[str, float]](), time.monotonic()
    for done, (score_id, split, sha256) in enumerate(missing, 1):
        file = measured(split, sha256)
        errors = file.errors if file else {}
        computed[score_id] = {name: error for name, error in errors.items() if math.isfinite(error)}
        if done == len(missing) or time.monotonic() - stored_at > STORE_SECONDS:
            with work.database.write() as session:
                standard_errors.record(session, computed)
            computed, stored_at = {}, time.monotonic()
            work.report_progress(done, len(missing), "Computing standard errors")
            work.has_stored()
    return {}
