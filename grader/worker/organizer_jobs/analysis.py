"""Analysis jobs: submission diagnoses and statistically tied teams."""

from dataclasses import replace
from functools import cache
from typing import Any

from grader import db
from grader.files import ColumnRoles, Solution, SubmissionFile, read_submission
from grader.files.submission.columns import ONE_NUMBER
from grader.metrics import MetricSettings, registry
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import LEVEL, quantile, two_sided_p_value
from grader.metrics.bias.analysis.paired_differences import Difference, score_difference
from grader.metrics.bias.prepared import FloatArray
from grader.metrics.interface import RowInfluences
from grader.metrics.row_statistics import paired_difference
from grader.models import Competition, ScoringVersion, Split, Submission
from grader.reports import Analysis, Material, analyse, formats
from grader.services.leaderboards import tied_teams
from grader.services.leaderboards.tied_teams import ComparedEntry, TiesParameters
from grader.services.moderation.diagnoses import DiagnosisParameters
from grader.services.solutions import canary_rows, intake
from grader.services.solutions.acceptance import LiveSolution
from grader.worker.calculator import PreparedSolution
from grader.worker.organizer_jobs.context import Work

STEPS = 4


def diagnose(work: Work) -> dict[str, Any]:
    """Analyze a submission on the public and private rows, and store the report.

    Raises FileRejected if a file can no longer be read.
    """
    work.report_progress(0, STEPS, "Reading the solution")
    asked = DiagnosisParameters.from_dict(work.parameters)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, asked.scoring_version_id)
        label = version.solution.report["label"]
    live = LiveSolution.load(work.storage, version)
    solution = solution_of(live, label)
    work.report_progress(1, STEPS, "Reading the submission")
    # File names are private to the teams, so the report uses submission numbers.
    predictions = {
        f"#{submission_id}": _predictions(work, live, submission_id)
        for submission_id in (asked.submission_id, asked.against_id)
        if submission_id is not None
    }
    found = {}
    for place, split in enumerate(Split):
        work.report_progress(2 + place, STEPS, f"Analyzing the {split.value} rows")
        found[split.value] = _analysed(solution, predictions, live.rules.bias, split)
    return {"sha256": work.storage.put(formats.to_bytes(found)).sha256}


def solution_of(live: LiveSolution, label: str) -> Solution:
    """Return a live solution as a Solution with the scored identities.

    Canary rows get their original labels back, because pairs may include `Ignored` rows.
    """
    truth = live.truth
    labels = canary_rows.restored(live.row_ids, truth, live.canaries).labels
    roles = ColumnRoles(id="id", label=label, identities=live.rules.identities, usage="Usage", unused=())
    return Solution(
        live.row_ids,
        labels,
        {name: truth.identities[name] for name in live.rules.identities},
        truth.usage,
        roles,
        dict(truth.other_labels),
        dict(truth.slices),
        truth.pair,
    )


def _predictions(work: Work, live: LiveSolution, submission_id: int) -> FloatArray:
    with work.database.read() as session:
        submission = session.get_one(Submission, submission_id)
        names = intake.other_labels(session, competition_id=submission.competition_id)
    data = work.storage.read(submission.sha256)
    return read_submission(data, live.row_ids, other_labels=names).predictions


def _analysed(
    solution: Solution, predictions: dict[str, FloatArray], settings: MetricSettings, split: Split
) -> Analysis:
    first, second = [*predictions, ""][:2]
    label = solution.roles.label
    inputs = Material(
        solution,
        {label: predictions[first]},
        {label: predictions[second]} if second else {},
        names=(first, second),
        settings=settings,
        split=split.value,
    )
    try:
        return analyse(inputs)
    except ValueError:
        if solution.pair is None:
            raise
        # Incomplete pairs in the organizer's columns must not prevent the rest of the report.
        found = analyse(replace(inputs, solution=replace(solution, pair=None)))
        return replace(found, facts=(*found.facts, "Pairs are omitted because they are incomplete"))


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
    comparison = _BiasComparison(work, version) if is_bias else _ComparedFile(work, version)
    return {
        "splits": {
            split.value: _compared(work, comparison, split, places, names)
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
    names: tuple[str, ...],
) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    above: Any = None
    for done, place in enumerate(places):
        work.report_progress(done, len(places), f"Comparing teams on the {split.value} rows")
        data = work.storage.read(place.sha256)
        file = read_submission(data, comparison.row_ids, other_labels=names, wanted=comparison.columns)
        measured: Any = comparison.measured(split, file)
        difference = comparison.difference(above, measured).as_dict() if above is not None else None
        lines.append({"submission_id": place.submission_id, "difference": difference})
        above = measured
    return lines


class _BiasComparison:
    """Paired tests of files under the bias metric, with the degrees of freedom of its compared sets."""

    columns = ONE_NUMBER

    def __init__(self, work: Work, version: ScoringVersion) -> None:
        self._live = LiveSolution.load(work.storage, version)
        self.row_ids = self._live.row_ids
        self._sets = cache(self._sets_of)

    def _sets_of(self, split: Split) -> Sets:
        rules = self._live.rules
        return Sets(self._live.truth.prepare(split, identities=rules.identities, settings=rules.bias))

    def measured(self, split: Split, file: SubmissionFile) -> Measured:
        """Return the values of a file with the influences of its rows."""
        rows = self._live.truth.rows(split)
        return Measured.of(self._sets(split), file.predictions[rows], self._live.rules.bias)

    def difference(self, one: Measured, other: Measured) -> Difference:
        """Return the difference between two files."""
        return score_difference(one, other)


class _ComparedFile:
    """Paired tests of files under any other metric whose rows have influences on the score."""

    def __init__(self, work: Work, version: ScoringVersion) -> None:
        self._solution = PreparedSolution.of(work.storage, version.metric_settings, version.solution)
        self.row_ids, self.columns = self._solution.row_ids, self._solution.submission

    def measured(self, split: Split, file: SubmissionFile) -> RowInfluences:
        """Return the score of a file with the influences of its rows."""
        metric = self._solution.metric
        measured = metric.measure(self._solution.splits[split], metric.encode(file.columns))
        if measured is None:
            raise ValueError(f"{metric.name} has no influences.")
        return measured

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
