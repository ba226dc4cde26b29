"""Stored canary rows: corrections, exclusion from scores, publication."""

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from grader.disclosure import TargetKind, examine
from grader.files import read_solution
from grader.models import Competition, OrganizerJob, ScoringVersion, Split
from grader.receipts import RecountSettings, read_truth
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.competitions.metric import Rules
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.rescoring import preparation, versions
from grader.services.rescoring import publication as rescoring_publication
from grader.services.setup import drafts
from grader.services.solutions import canary_rows, check_jobs, intake, publication
from grader.services.solutions.check_jobs import FORGOTTEN, CheckParameters, NotAcceptable, UploadedFile
from grader.services.solutions.intake import StoredSolution
from grader.services.solutions.publication import NoCanaryRows, SolutionNotPublished
from grader.services.solutions.truth import IGNORED, Truth
from grader.worker.organizer_jobs.checks import hidden_by
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.canary_rows import assessed_with_canaries
from tests.fixtures.competitions import publish_competition

SHELL = Actor(None, "shell (tests)")


@pytest.fixture
def competition(service, solution_csv: Callable[..., bytes]) -> Competition:
    solution = intake.keep(service.storage, assessed_with_canaries(read_solution(solution_csv())))
    return service.act(publish_competition, slug="toxicity", solution=solution, actor=SHELL)


def truth_of(service, solution) -> Truth:
    return Truth.from_bytes(service.storage.read(solution.prepared_sha256))


def places(canaries: canary_rows.Canaries) -> list[int]:
    return [int(each.row_id.removeprefix("r")) for each in canaries]


def done(service, add: Callable[..., OrganizerJob]) -> OrganizerJob:
    """Run a checking job and return it."""
    with service.database.write() as session:
        job = add(session)
    OrganizerWorker(service.settings, service.database, service.storage).run(job.id)
    with service.database.read() as session:
        return session.get_one(OrganizerJob, job.id)


def checked(service, competition: Competition, csv: bytes) -> OrganizerJob:
    file = UploadedFile.of("solution.csv", service.storage.put(csv))
    return done(
        service,
        lambda session: check_jobs.add(
            session,
            competition=session.get_one(Competition, competition.id),
            file=file,
            actor=SHELL,
            now=service.now,
        ),
    )


def rescored(service, competition: Competition, solution: StoredSolution) -> Competition:
    with service.database.write() as session:
        version = preparation.prepare(
            session,
            competition=session.get_one(Competition, competition.id),
            solution=solution,
            reason="Again.",
            actor=SHELL,
            now=service.now,
        )
        rescoring_publication.publish(session, scoring_version_id=version.id, actor=SHELL, now=service.now)
    return service.reload(competition)


def live(service, competition: Competition) -> ScoringVersion:
    return lookup.live(service.reload(competition))


def test_canary_rows_are_ignored_and_have_the_label_of_their_coin(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    solution = live(service, competition).solution
    canaries, truth = canary_rows.read(solution.canaries), truth_of(service, solution)
    before = read_solution(solution_csv())

    assert len(canaries) == 40
    assert solution.public_row_count + solution.private_row_count == 360
    rows = places(canaries)
    assert (truth.usage[rows] == IGNORED).all()
    assert (truth.labels[rows] == [float(each.coin) for each in canaries]).all()
    assert [each.true_label for each in canaries] == before.labels[rows].tolist()
    assert before.usage is not None
    assert [each.usage for each in canaries] == before.usage[rows].tolist()
    others = np.setdiff1d(np.arange(400), rows)
    assert (truth.labels[others] == before.labels[others]).all()
    restored = canary_rows.restored(before.row_ids, truth, canaries)
    assert (restored.labels == before.labels).all()
    assert (restored.usage == before.usage).all()


def test_list_is_stored_separately_and_fixed_by_the_commitment(service, competition: Competition):
    solution = live(service, competition).solution
    form = b"".join(publication.canonical_pieces(service.storage, solution=solution))

    assert hashlib.sha256(solution.canaries.encode()).hexdigest() == solution.nonce
    assert hashlib.sha256(bytes.fromhex(solution.nonce) + form).hexdigest() == solution.commitment
    assert hashlib.sha256(form).hexdigest() == solution.digest
    assert not any(
        solution.canaries.encode() in service.storage.read(each.sha256) for each in service.storage.blobs()
    )


def test_check_of_an_earlier_version_keeps_its_canary_rows_when_accepted(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    """The public commitment of an accepted check depends on the list in its result."""
    draft = service.act(drafts.create, slug="next", settings=CompetitionSettings(title="Next"), actor=SHELL)
    job = checked(service, draft, solution_csv())
    earlier = intake.keep(service.storage, assessed_with_canaries(read_solution(solution_csv())))
    request = {"canaries": {"count": 40, "from_scored": True}}
    with service.database.write() as session:
        row = session.get_one(OrganizerJob, job.id)
        row.parameters = row.parameters | request
        row.result = row.result | {"solution": earlier.as_dict()} | earlier.apart()
    with service.database.write() as session:
        act = acting.begin(session, competition=draft, actor=SHELL, now=service.now)
        versions.accept_check(act, job_id=job.id)
    solution = live(service, draft).solution
    assert solution.canaries == earlier.canaries
    assert hashlib.sha256(solution.canaries.encode()).hexdigest() == solution.nonce


def test_check_whose_file_an_earlier_version_deleted_cannot_be_repeated(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    job = checked(service, competition, solution_csv())
    with service.database.write() as session:
        row = session.get_one(OrganizerJob, job.id)
        asked = CheckParameters.from_dict(row.parameters)
        gone = asked.file.model_copy(update={"sha256": FORGOTTEN})
        row.parameters = asked.model_copy(update={"file": gone}).as_dict()
        with pytest.raises(NotAcceptable, match="Upload it again"):
            check_jobs.add_again(
                session, competition=row.competition, job=row, roles={}, actor=SHELL, now=service.now
            )


def test_no_correction_makes_a_canary_row_count(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    """The organizer's own file contains each row's true label and either `Public` or `Private`."""
    before = live(service, competition).solution
    job = checked(service, competition, solution_csv())

    assert job.result["changes"]["rows"] == 0
    ids = {each.row_id for each in canary_rows.read(before.canaries)}
    (warning,) = [
        each["message"] for each in job.result["report"]["findings"] if each["code"] == "canaries_kept"
    ]
    assert "40 canary rows" in warning
    assert warning.rpartition("Rows: ")[2].partition(",")[0] in ids

    header, *lines = solution_csv().decode().splitlines()
    place = next(place for place, line in enumerate(lines) if line.partition(",")[0] not in ids)
    row_id, label, *rest = lines[place].split(",")
    lines[place] = ",".join([row_id, str(1 - int(label)), *rest])
    job = checked(service, competition, "\n".join([header, *lines]).encode())
    after = rescored(service, competition, check_jobs.stored_in(job)).live_scoring_version.solution
    assert after.number == 2
    assert canary_rows.read(after.canaries) == canary_rows.read(before.canaries)
    assert after.canaries != before.canaries  # The random digits differ because the nonce differs.
    assert hashlib.sha256(after.canaries.encode()).hexdigest() == after.nonce
    truth = truth_of(service, after)
    rows = places(canary_rows.read(after.canaries))
    assert (truth.usage[rows] == IGNORED).all()
    assert (truth.labels[rows] == truth_of(service, before).labels[rows]).all()


def test_other_settings_keep_the_canary_rows_and_the_commitment(service, competition: Competition):
    version = live(service, competition)
    rules = Rules.of(version)
    changed = rules.model_copy(update={"metric": replace(rules.metric, power=-2.0)})
    job = done(
        service,
        lambda session: check_jobs.add_settings_check(
            session,
            competition=session.get_one(Competition, competition.id),
            rules=changed,
            actor=SHELL,
            now=service.now,
        ),
    )
    after = rescored(service, competition, check_jobs.stored_in(job)).live_scoring_version.solution
    assert after.canaries == version.solution.canaries
    assert after.commitment == version.solution.commitment


def test_clone_has_the_same_canary_rows_under_its_own_nonce(service, competition: Competition):
    with service.database.write() as session:
        draft = drafts.create(
            session, slug="next", settings=CompetitionSettings(title="Next"), actor=SHELL, now=service.now
        )
        source = session.get_one(Competition, competition.id)
        versions.copy_solution(session, source=source, draft=draft, actor=SHELL, now=service.now)
    solution, copied = (live(service, each).solution for each in (competition, draft))
    assert canary_rows.read(copied.canaries) == canary_rows.read(solution.canaries)
    _, commitment = publication.committed(service.storage, solution=copied)
    assert commitment.nonce == hashlib.sha256(copied.canaries.encode()).hexdigest()
    assert commitment.value != solution.commitment


def test_recount_also_excludes_canary_rows(service, competition: Competition):
    version = live(service, competition)
    form = b"".join(publication.canonical_pieces(service.storage, solution=version.solution))
    recounted = read_truth(form, RecountSettings.from_dict(version.metric_settings))
    assert recounted.digest == version.solution.digest
    truth = truth_of(service, version.solution)
    assert truth.rows(Split.PUBLIC).size == version.solution.public_row_count


def test_list_is_published_with_the_solution_and_not_before(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    with pytest.raises(SolutionNotPublished):
        publication.canaries(competition)
    assert not publication.has_canaries(competition)
    service.reveal(competition)
    with service.database.write() as session:
        publication.publish(
            session, competition=session.get_one(Competition, competition.id), actor=SHELL, now=service.now
        )
    shown = service.reload(competition)
    assert publication.canaries(shown) == shown.live_scoring_version.solution.canaries
    assert publication.has_canaries(shown)

    plain = service.competition("plain")
    service.reveal(plain)
    with service.database.write() as session:
        publication.publish(
            session, competition=session.get_one(Competition, plain.id), actor=SHELL, now=service.now
        )
    with pytest.raises(NoCanaryRows):
        publication.canaries(service.reload(plain))


def test_data_file_with_the_true_or_the_altered_labels_is_found(
    service, competition: Competition, solution_csv: Callable[..., bytes]
):
    """In a small competition, the altered labels exceed the tolerance of the data file check."""
    solution = live(service, competition).solution
    hidden = hidden_by(service, [solution])
    for labels in (read_solution(solution_csv()).labels, truth_of(service, solution).labels):
        data = "id,x\n" + "".join(f"r{row},{int(label)}\n" for row, label in enumerate(labels.tolist()))
        found = examine(io.BytesIO(data.encode()), hidden)
        assert TargetKind.LABEL in {each.kind for each in found.disclosures if each.column == "x"}
