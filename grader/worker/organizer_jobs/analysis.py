"""Analysis jobs: submission diagnoses and statistically tied teams."""

from dataclasses import replace
from typing import Any

from grader import db
from grader.files import ColumnRoles, Solution, read_submission
from grader.metrics import MetricSettings
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.paired_differences import score_difference
from grader.metrics.bias.prepared import FloatArray
from grader.models import Competition, ScoringVersion, Split, Submission
from grader.reports import Analysis, Material, analyse, formats
from grader.services.leaderboards import tied_teams
from grader.services.leaderboards.tied_teams import ComparedEntry, TiesParameters
from grader.services.moderation.diagnoses import DiagnosisParameters
from grader.services.solutions import canary_rows, intake
from grader.services.solutions.acceptance import LiveSolution
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
    live = LiveSolution.load(work.storage, version)
    return {
        "splits": {
            split.value: _compared(work, live, split, places, names)
            for split, places in boards.items()
            if places
        },
        **published,
    }


def _compared(
    work: Work, live: LiveSolution, split: Split, places: list[ComparedEntry], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    settings = live.rules.bias
    prepared = live.truth.prepare(split, identities=live.rules.identities, settings=settings)
    sets, rows = Sets(prepared), live.truth.rows(split)
    lines: list[dict[str, Any]] = []
    above: Measured | None = None
    for done, place in enumerate(places):
        work.report_progress(done, len(places), f"Comparing teams on the {split.value} rows")
        file = read_submission(work.storage.read(place.sha256), live.row_ids, other_labels=names)
        measured = Measured.of(sets, file.predictions[rows], settings)
        difference = score_difference(above, measured).as_dict() if above is not None else None
        lines.append({"submission_id": place.submission_id, "difference": difference})
        above = measured
    return lines
