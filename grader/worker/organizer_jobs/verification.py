"""The job that verifies a close: recompute the scores of the ranked submissions."""

from typing import Any

from grader.models import ScoringVersion, Submission
from grader.receipts import Receipt, Settings, read_truth
from grader.services.closing import verification
from grader.services.closing.verification import Verified, VerifyParameters
from grader.services.solutions import publication
from grader.services.submissions import receipts
from grader.worker.organizer_jobs.context import Work
from grader.worker.organizer_jobs.solution_digests import with_digest


def verify(work: Work) -> dict[str, Any]:
    """Verify submissions one by one; another attempt continues with the first unverified one.

    Raises NothingToVerify, and OrganizerError where the stored solution is not what it was.
    """
    work.report_progress(0, 0, "Reading the solution")
    version_id = VerifyParameters.from_dict(work.parameters).scoring_version_id
    with work.database.read() as session:
        solution = session.get_one(ScoringVersion, version_id).solution
    digest = with_digest(work.database, work.storage, solution)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, version_id)
        solution = version.solution
        submissions = verification.competing(session, version=version)
    truth = read_truth(
        b"".join(publication.canonical_pieces(work.storage, solution=solution)),
        Settings.from_dict(version.metric_settings),
    )
    verified = _begun(work, version.number, digest)

    def receipt_of(submission: Submission) -> Receipt:
        with work.database.read() as session:
            return receipts.whole(session, submission=submission, version=version)

    def keep(verified: Verified) -> None:
        work.keep(verified.as_dict)
        _tell(work, verified, len(submissions))

    _tell(work, verified, len(submissions))
    verification.verify_all(
        verified,
        submissions=submissions,
        receipt_of=receipt_of,
        truth=truth,
        read=work.storage.read,
        kept=keep,
    )
    return verified.as_dict()


def _begun(work: Work, number: int, solution: str) -> Verified:
    if work.kept:
        return Verified.from_dict(work.kept)
    return Verified(scoring_version=number, solution=solution)


def _tell(work: Work, verified: Verified, total: int) -> None:
    work.report_progress(len(verified.submission_ids), total, "Recounting submissions")
