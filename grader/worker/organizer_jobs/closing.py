"""Closing jobs: score verification, results bundle, commitments to solutions."""

import hashlib
import io
import logging
import zipfile
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

from grader.db import Database
from grader.errors import OrganizerError
from grader.files import FileRejected
from grader.metrics.python_metric import MetricFailed
from grader.models import Competition, ScoringVersion, Submission
from grader.receipts import Receipt, Recheck, SlowTruth, UnreadableFile, read_truth, settings_of
from grader.receipts.receipt import verify_scores
from grader.sandbox import SandboxUnavailable
from grader.services.closing import verification
from grader.services.closing.verification import Verified, VerifyParameters
from grader.services.competitions import lookup
from grader.services.exports import bundle as bundles
from grader.services.exports import bundle_files
from grader.services.solutions import publication
from grader.services.solutions.publication import BundleParameters
from grader.services.submissions import receipts
from grader.storage.stores import BlobDamaged, BlobMissing, Storage
from grader.worker.calculator import PreparedSolution
from grader.worker.organizer_jobs.context import Work

SOLUTION = "solution.csv"
EPOCH = (1980, 1, 1, 0, 0, 0)

logger = logging.getLogger(__name__)


def verify(work: Work) -> dict[str, Any]:
    """Recompute the scores of the competing submissions, or resume an interrupted attempt.

    Raises NothingToVerify, or another OrganizerError if the stored solution has changed.
    """
    work.report_progress(0, 0, "Reading the solution")
    version_id = VerifyParameters.from_dict(work.parameters).scoring_version_id
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, version_id)
        solution = version.solution
        submissions = verification.competing(session, version=version)
    settings = settings_of(version.metric_settings)
    canonical = b"".join(publication.canonical_pieces(work.storage, solution=solution))
    if settings is None:
        found, recheck = hashlib.sha256(canonical).hexdigest(), _run_again(work.storage, version)
    else:
        truth = read_truth(canonical, settings)
        found, recheck = truth.digest, partial(_recount, truth)
    verified = (
        Verified.from_dict(work.kept)
        if work.kept
        else Verified(scoring_version=version.number, solution=solution.digest)
    )

    def receipt_of(submission: Submission) -> Receipt:
        with work.database.read() as session:
            return receipts.whole(session, submission=submission, version=version)

    def report_progress() -> None:
        work.report_progress(len(verified.submission_ids), len(submissions), "Verifying submissions")

    def keep(verified: Verified) -> None:
        work.keep(verified.as_dict)
        report_progress()

    report_progress()
    verification.verify_all(
        verified,
        submissions=submissions,
        receipt_of=receipt_of,
        digest=found,
        recheck=recheck,
        read=work.storage.read,
        kept=keep,
    )
    return verified.as_dict()


def _recount(truth: SlowTruth, receipt: Receipt, data: bytes) -> Iterator[Recheck]:
    return verify_scores(receipt, submission=data, truth=truth)


def _run_again(storage: Storage, version: ScoringVersion) -> verification.Rechecker:
    """Return a function that compares the scores of a metric.py with those of another run in the sandbox."""
    prepared = PreparedSolution.of(storage, version.metric_settings, version.solution)

    def recheck(receipt: Receipt, data: bytes) -> Iterator[Recheck]:
        try:
            results = prepared.results(data)
        except SandboxUnavailable as error:
            raise OrganizerError(f"The metric cannot run here: {error}") from error
        except (FileRejected, MetricFailed) as error:
            raise UnreadableFile(str(error)) from error
        for split, result in results.items():
            stored = receipt.splits[split.value]
            yield Recheck(f"{split} score", stored.score, result.score)
            for term, value in result.terms.items():
                yield Recheck(f"{split} {term}", (stored.terms or {}).get(term), value)

    return recheck


def bundle(work: Work) -> dict[str, Any]:
    """Pack the newest final standings and, if requested, the solution; raise NotFinal.

    The solution is also stored separately under its digest, for the page of a published solution. A job
    without results does nothing else.
    """
    asked = BundleParameters.from_dict(work.parameters)
    work.report_progress(0, 3, "Reading the solution")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        solution = lookup.live(competition).solution
    files: dict[str, bytes] = {}
    if asked.with_solution:
        content = b"".join(publication.canonical_pieces(work.storage, solution=solution))
        files[SOLUTION] = content
        work.storage.put(content)
    result = {"with_solution": asked.with_solution, "solution": solution.digest}
    if not asked.with_results:
        return result
    work.report_progress(1, 3, "Collecting the results")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        found = bundles.gather(session, competition=competition, with_receipts=asked.with_solution)
    address = f"{work.settings.site()}/competitions/{found.slug}"
    files |= {name: text.encode() for name, text in bundle_files.texts(found, address=address).items()}
    if source := found.rules.as_settings().get("source"):
        files["metric.py"] = work.storage.read(source)
    work.report_progress(2, 3, "Packing")
    name = f"{found.slug}-final-{found.number}"
    blob = work.storage.put(_packed(files, folder=name))
    return result | {
        "sha256": blob.sha256,
        "size_bytes": blob.size,
        "file_name": f"{name}{'-with-solution' if asked.with_solution else ''}.zip",
        "final_number": found.number,
        "scoring_version": found.scoring_version,
        "file_count": len(files) + 1,
    }


def _packed(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """Return a reproducible ZIP archive of files with their checksums."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        for name, data in sorted({**files, "SHA256SUMS": sums.encode()}.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entries.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return archive.getvalue()


def write_missing_commitments(database: Database, storage: Storage, *, but: Collection[int] = ()) -> set[int]:
    """Store missing commitments of cloned solutions; return the ids of damaged solutions.

    Solutions in `but` are not retried.
    """
    with database.read() as session:
        found = publication.without_commitment(session)
    damaged = {solution.id for solution in found if solution.id in but}
    for solution in found:
        if solution.id not in damaged:
            try:
                commitment = publication.committed(storage, solution=solution)
            except (BlobMissing, BlobDamaged) as error:
                logger.warning("Solution %s has no commitment: %s", solution.id, error)
                damaged.add(solution.id)
            else:
                with database.write() as session:
                    publication.keep_commitment(session, solution=solution, commitment=commitment)
    return damaged


def write_missing_files(database: Database, storage: Storage) -> None:
    """Write the missing files of published solutions, which backups do not contain."""
    with database.read() as session:
        found = publication.list_all(session)
    for solution in found:
        if storage.exists(solution.digest):
            continue
        try:
            storage.put(b"".join(publication.canonical_pieces(storage, solution=solution)))
        except (BlobMissing, BlobDamaged) as error:
            logger.warning("The file of solution %s cannot be written: %s", solution.id, error)
