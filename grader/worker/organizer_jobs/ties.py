"""The job that finds statistically tied teams on the leaderboards."""

from typing import Any

from grader import db
from grader.files import read_submission
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.paired_differences import Measured, score_difference
from grader.models import Competition, ScoringVersion, Split
from grader.services.leaderboards import ties
from grader.services.leaderboards.ties import Place, TiesParameters
from grader.services.solutions import intake
from grader.services.solutions.assessment import LiveSolution
from grader.worker.organizer_jobs.context import Work


def compare(work: Work) -> dict[str, Any]:
    """Compare neighbouring teams on the public leaderboard and, once it is settled, on the private one."""
    work.report_progress(0, 0, "Reading the solution")
    version_id = TiesParameters.from_dict(work.parameters).scoring_version_id
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, version_id)
        _ = version.solution  # loaded while the session is open
        names = intake.other_labels(session, competition_id=version.competition_id)
        competition = session.get_one(Competition, version.competition_id)
        published = {"published_at": db.now(session).isoformat()} if ties.marks_itself(competition) else {}
        boards = {split: ties.places(session, scoring_version_id=version_id, split=split) for split in Split}
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
    work: Work, live: LiveSolution, split: Split, places: list[Place], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    settings = live.rules.metric
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
