"""Analysis jobs: statistically tied teams and differences between files."""

import time
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from sqlalchemy import select

from grader import db
from grader.files import FileRejected, read_submission
from grader.metrics import registry
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import LEVEL, quantile, two_sided_p_value
from grader.metrics.bias.analysis.paired_differences import Difference, score_difference
from grader.metrics.interface import PairedDifference, RowInfluences, UnsuitablePredictions
from grader.metrics.python_metric import MetricFailed
from grader.metrics.row_statistics import paired_difference
from grader.models import Competition, ScoringVersion, Split, Submission
from grader.services.leaderboards import paired_differences, tied_teams
from grader.services.leaderboards.paired_differences import Pair
from grader.services.leaderboards.tied_teams import ComparedEntry, TiesParameters
from grader.services.solutions import intake
from grader.services.solutions.acceptance import LiveSolution
from grader.storage.stores import BlobDamaged, BlobMissing
from grader.worker.calculator import EncodedCache, PreparedSolution
from grader.worker.organizer_jobs.context import Work

KEPT_INFLUENCES = 8
STORE_SECONDS = 2.0
UNREADABLE = (BlobDamaged, BlobMissing, FileRejected, MetricFailed, UnsuitablePredictions)


def compare_ties(work: Work) -> dict[str, Any]:
    """Compare adjacent teams on the public leaderboard and, once it is settled, on the private one."""
    work.report_progress(0, 0, "Reading the solution")
    version_id = TiesParameters.from_dict(work.parameters).scoring_version_id
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, version_id)
        _ = version.solution  # loads the solution while the session is open
        names = intake.other_labels(session, competition_id=version.competition_id)
        competition = session.get_one(Competition, version.competition_id)
        published = (
            {"published_at": db.now(session).isoformat()} if tied_teams.marks_itself(competition) else {}
        )
        boards = {
            split: tied_teams.places(session, scoring_version_id=version_id, split=split) for split in Split
        }
    is_bias = registry.is_default(version.metric_settings)
    comparison = (_BiasComparison if is_bias else _ComparedFile)(work, version, names)
    return {
        "splits": {
            split.value: _compared(work, comparison, split, places)
            for split, places in boards.items()
            if places
        },
        **published,
    }


def _compared(
    work: Work,
    comparison: "_ComparedFile | _BiasComparison",
    split: Split,
    places: list[ComparedEntry],
) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    above: Any = None
    for done, place in enumerate(places):
        work.report_progress(done, len(places), f"Comparing teams on the {split.value} rows")
        measured: Any = comparison.measured(split, place.sha256)
        both = above is not None and measured is not None
        difference = comparison.difference(above, measured).as_dict() if both else None
        lines.append({"submission_id": place.submission_id, "difference": difference})
        above = measured
    return lines


class _BiasComparison:
    """Paired tests of files under the bias metric, with the degrees of freedom of its compared sets."""

    def __init__(self, work: Work, version: ScoringVersion, names: tuple[str, ...]) -> None:
        self._storage, self._names = work.storage, names
        self._live = LiveSolution.load(work.storage, version)
        self._sets = cache(self._sets_of)

    def _sets_of(self, split: Split) -> Sets:
        rules = self._live.rules
        return Sets(self._live.truth.prepare(split, identities=rules.identities, settings=rules.bias))

    def measured(self, split: Split, sha256: str) -> Measured:
        """Return the values of a file with the influences of its rows."""
        rows, data = self._live.truth.rows(split), self._storage.read(sha256)
        file = read_submission(data, self._live.row_ids, other_labels=self._names)
        return Measured.of(self._sets(split), file.predictions[rows], self._live.rules.bias)

    def difference(self, one: Measured, other: Measured) -> Difference:
        """Return the difference between two files."""
        return score_difference(one, other)


class _ComparedFile:
    """Paired tests of files under any metric whose rows have influences on the score."""

    def __init__(self, work: Work, version: ScoringVersion, names: tuple[str, ...]) -> None:
        self._storage, self._names, self._cache = work.storage, names, EncodedCache.of(work.settings)
        self._solution = PreparedSolution.of(work.storage, version.metric_settings, version.solution)
        self._row_ids_sha256 = version.solution.row_ids_sha256

    def measured(self, split: Split, sha256: str) -> RowInfluences | None:
        """Return the score of a file with the influences of its rows, or None if it has none."""
        solution = self._solution
        solution.begin()
        return solution.metric.measure(solution.splits[split], self._encoded(sha256))

    def _encoded(self, sha256: str) -> Any:
        solution, metric = self._solution, self._solution.metric
        kept = self._cache and self._cache.get(sha256, self._row_ids_sha256, metric.encoding)
        if kept:
            return kept.encoded
        data, row_ids, names = self._storage.read(sha256), solution.row_ids, self._names
        file = read_submission(data, row_ids, other_labels=names, wanted=solution.submission)
        return metric.encode(file.columns)

    def difference(self, one: RowInfluences, other: RowInfluences) -> Difference:
        """Return the difference between two files."""
        paired = paired_difference(one, other)
        value, error = paired.value, paired.standard_error
        if not error:
            return Difference(value, error, None, None, 1.0 if value == 0 else None)
        degrees = max(one.rows.size - 1, 1)
        reach = quantile(LEVEL, degrees) * error
        p_value = two_sided_p_value(value / error, degrees)
        return Difference(value, error, value - reach, value + reach, p_value)


def compare_pairs(work: Work) -> dict[str, Any]:
    """Compute the missing paired differences of a scoring version, and store them repeatedly.

    Each transaction replaces the leaderboards' content token, so there is not one for every pair.
    """
    version_id = TiesParameters.from_dict(work.parameters).scoring_version_id
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, version_id)
        _ = version.solution  # loads the solution while the session is open
        names = intake.other_labels(session, competition_id=version.competition_id)
        pairs = paired_differences.missing(session, version=version)
        ids = {number for pair in pairs for number in pair[1:]}
        files = select(Submission.id, Submission.sha256).where(Submission.id.in_(ids))
        hashes = dict(session.execute(files).all())
    if not pairs:
        return {}
    measured = lru_cache(KEPT_INFLUENCES)(_ComparedFile(work, version, names).measured)
    computed, stored_at = list[tuple[Pair, PairedDifference | None]](), time.monotonic()
    for done, pair in enumerate(pairs, 1):
        one = other = None
        with suppress(*UNREADABLE):
            if pair.submission_id != pair.baseline_id:
                one, other = (measured(pair.split, hashes[number]) for number in pair[1:])
        computed.append((pair, paired_difference(one, other) if one and other else None))
        if done == len(pairs) or time.monotonic() - stored_at > STORE_SECONDS:
            with work.database.write() as session:
                paired_differences.record(session, scoring_version_id=version_id, differences=computed)
            computed, stored_at = [], time.monotonic()
            work.report_progress(done, len(pairs), "Comparing submissions")
            work.keep(dict)
    return {}
