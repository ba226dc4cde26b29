"""The job that packs the results bundle as a reproducible ZIP archive.

It also writes the file of a published solution, with the results or by itself.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from typing import Any

from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.exports import bundle as bundles
from grader.services.exports import bundle_files
from grader.services.solutions import publication
from grader.services.solutions.publication import BundleParameters
from grader.worker.organizer_jobs.context import Work
from grader.worker.organizer_jobs.solution_digests import with_digest

SOLUTION = "solution.csv"
EPOCH = (1980, 1, 1, 0, 0, 0)


def bundle(work: Work) -> dict[str, Any]:
    """Pack the newest final standings, with the solution if that was chosen; raise NotFinal.

    The solution is also stored by itself, under its digest, for the page of a published one. Without the
    results that is all.
    """
    asked = BundleParameters.from_dict(work.parameters)
    work.report_progress(0, 3, "Reading the solution")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        solution = lookup.live(competition).solution
    files: dict[str, bytes] = {}
    digest = with_digest(work.database, work.storage, solution)
    if asked.with_solution:
        content = b"".join(publication.canonical_pieces(work.storage, solution=solution))
        files[SOLUTION] = content
        work.storage.put(content)
    result = {"with_solution": asked.with_solution, "solution": digest}
    if not asked.with_results:
        return result
    work.report_progress(1, 3, "Gathering the results")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        found = bundles.gather(session, competition=competition, with_receipts=asked.with_solution)
    address = f"{work.settings.site()}/competitions/{found.slug}"
    files |= {name: text.encode() for name, text in bundle_files.texts(found, address=address).items()}
    work.report_progress(2, 3, "Packing")
    name = f"{found.slug}-final-{found.number}"
    archive = packed(files, folder=name)
    blob = work.storage.put(archive)
    return result | {
        "sha256": blob.sha256,
        "size_bytes": blob.size,
        "file_name": f"{name}{'-with-solution' if asked.with_solution else ''}.zip",
        "final_number": found.number,
        "scoring_version": found.scoring_version,
        "file_count": len(files) + 1,
    }


def packed(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """Return files as a ZIP archive with their checksums, the same bytes for the same files."""
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        for name, data in sorted({**files, "SHA256SUMS": sums.encode()}.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entries.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return archive.getvalue()
