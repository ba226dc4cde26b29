"""The job that computes a submission's diagnosis on both splits."""

from dataclasses import dataclass, replace
from typing import Any

from grader.files import ColumnRoles, Solution, read_submission
from grader.metrics import MetricSettings
from grader.metrics.prepared import FloatArray
from grader.models import ScoringVersion, Split, Submission
from grader.reports import Analysis, Inputs, analyse, formats
from grader.services.moderation.diagnoses import DiagnosisParameters
from grader.services.solutions import canary_rows, intake
from grader.services.solutions.assessment import LiveSolution
from grader.worker.organizer_jobs.context import Work

STEPS = 4


@dataclass(frozen=True, eq=False)
class _Model:
    """One submission to look at: what to call it, and its predictions."""

    name: str
    predictions: FloatArray


def diagnose(work: Work) -> dict[str, Any]:
    """Analyse the submission that the job names on the public and on the private rows, and store the report.

    Raises FileRejected where a file cannot be read any more.
    """
    work.report_progress(0, STEPS, "Reading the solution")
    asked = DiagnosisParameters.from_dict(work.parameters)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, asked.scoring_version_id)
        label = version.solution.report["label"]
    live = LiveSolution.load(work.storage, version)
    solution = solution_of(live, label)
    work.report_progress(1, STEPS, "Reading the submission")
    models = [
        _model(work, live, submission_id)
        for submission_id in (asked.submission_id, asked.against_id)
        if submission_id is not None
    ]
    found = {}
    for place, split in enumerate(Split):
        work.report_progress(2 + place, STEPS, f"Analysing the {split.value} rows")
        found[split.value] = _analysed(solution, models, live.rules.metric, split)
    return {"sha256": work.storage.put(formats.to_bytes(found)).sha256}


def solution_of(live: LiveSolution, label: str) -> Solution:
    """Return the truth as a solution whose identities are those in the score.

    Canary rows have their true labels: pairs count Ignored rows too.
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


def _model(work: Work, live: LiveSolution, submission_id: int) -> _Model:
    """Read a submission without its file name, which is private to the team."""
    with work.database.read() as session:
        submission = session.get_one(Submission, submission_id)
        names = intake.other_labels(session, competition_id=submission.competition_id)
    data = work.storage.read(submission.sha256)
    return _Model(f"#{submission_id}", read_submission(data, live.row_ids, other_labels=names).predictions)


def _analysed(solution: Solution, models: list[_Model], settings: MetricSettings, split: Split) -> Analysis:
    first, other = models[0], models[1] if len(models) > 1 else None
    label = solution.roles.label
    inputs = Inputs(
        solution,
        {label: first.predictions},
        {label: other.predictions} if other else {},
        names=(first.name, other.name if other else ""),
        settings=settings,
        split=split.value,
    )
    try:
        return analyse(inputs)
    except ValueError:
        if solution.pair is None:
            raise
        # Pairs are the organizer's own columns: incomplete ones leave the rest to be said.
        found = analyse(replace(inputs, solution=replace(solution, pair=None)))
        return replace(found, facts=(*found.facts, "Pairs are left out: they are incomplete"))
