"""Closing jobs: receipts, verification, results bundle."""

import csv
import hashlib
import io
import json
import subprocess
import zipfile
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from sqlalchemy import select, update

from grader.models import (
    AuditEntry,
    Competition,
    JobState,
    OrganizerJob,
    Score,
    Solution,
    Split,
    Submission,
    Team,
)
from grader.receipts import Receipt, verify
from grader.sandbox import layers
from grader.services.audit.log import Actor
from grader.services.closing import close, verification
from grader.services.closing.close import NotClosed
from grader.services.closing.verification import NotSettled
from grader.services.competitions import lookup
from grader.services.exports import bundle
from grader.services.exports.bundle import NotFinal
from grader.services.solutions import publication
from grader.services.solutions.publication import NotRevealed, SolutionNotPublished, SolutionPublished
from grader.services.submissions import receipts
from grader.services.submissions.receipts import CommitmentPending, NoReceipt
from grader.services.teams import divisions
from grader.visibility import Phase, Viewer
from grader.worker.organizer_jobs import closing as closing_jobs
from grader.worker.organizer_jobs import context
from grader.worker.organizer_jobs.closing import write_missing_commitments, write_missing_files
from grader.worker.organizer_jobs.worker import OrganizerWorker
from tests.fixtures.python_metrics import MEAN, use_python_metric

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
LATER = timedelta(days=1)
ACTOR = Actor.shell()


@pytest.fixture
def closed(service) -> Competition:
    """A closed, settled competition with three teams, whose competing submissions are known."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1))
    for seed, name in enumerate(("ada", "bob", "cyd")):
        for skill in (0.2, 0.5, 0.8):
            service.score(service.submit(competition, user=name, seed=seed, skill=skill))
    service.act(close.settle, competition=competition, after=LATER)
    return service.reload(competition)


def finish(service, competition: Competition) -> Competition:
    with service.database.write() as session:
        close.reveal(session, competition=competition, actor=ACTOR, now=service.now + LATER)
        close.finalize(session, competition=competition, actor=ACTOR, now=service.now + LATER)
    return service.reload(competition)


def run(service, job: OrganizerJob, **options) -> OrganizerJob:
    worker = OrganizerWorker(service.settings, service.database, service.storage, **options)
    worker.run(job.id)
    with service.database.read() as session:
        found: OrganizerJob = session.get_one(OrganizerJob, job.id)
        return found


def ask_to_verify(service, competition: Competition) -> OrganizerJob:
    return service.act(verification.request, competition=competition, actor=ACTOR, after=LATER)


def ask_for_bundle(service, competition: Competition, *, with_solution: bool) -> OrganizerJob:
    return service.act(
        bundle.request, competition=competition, with_solution=with_solution, actor=ACTOR, after=LATER
    )


def receipt(service, submission_id: int, viewer: Viewer, phase: Phase) -> Receipt:
    with service.database.read() as session:
        submission = session.get_one(Submission, submission_id)
        return receipts.visible_to(session, submission=submission, viewer=viewer, phase=phase)


def bytes_of(service, submission_id: int) -> bytes:
    with service.database.read() as session:
        data: bytes = service.storage.read(session.get_one(Submission, submission_id).sha256)
        return data


def test_organizers_receipt_is_verified_from_the_files(service, solution_csv):
    competition = service.competition()
    accepted = service.submit(competition)
    service.score(accepted)
    found = receipt(service, accepted.submission.id, Viewer.ORGANIZER, Phase.OPEN)
    checks = verify(
        Receipt.from_json(found.to_json()),
        submission=bytes_of(service, accepted.submission.id),
        solution=solution_csv(),
    )
    assert [check.what for check in checks if not check.holds] == []
    assert len(checks) > 30


@on_sqlite
def test_teams_receipt_has_hashes_and_shown_values_until_the_solution_is_published(
    service,
):
    competition = service.competition()
    accepted = service.submit(competition)
    service.score(accepted)
    submission_id = accepted.submission.id
    own = receipt(service, submission_id, Viewer.TEAM, Phase.OPEN).as_dict()
    assert set(own["splits"]) == {"public"}
    assert set(own["splits"]["public"]) == {"shown"}
    assert set(own["solution"]) == {"number", "commitment"}
    revealed = receipt(service, submission_id, Viewer.TEAM, Phase.REVEALED).as_dict()
    assert {name: set(split) for name, split in revealed["splits"].items()} == {
        "public": {"shown"},
        "private": {"shown"},
    }
    with service.database.write() as session:
        close.reveal(session, competition=competition, actor=ACTOR, now=service.now)
        publication.publish(session, competition=competition, actor=ACTOR, now=service.now)
    whole = receipt(service, submission_id, Viewer.TEAM, Phase.REVEALED)
    assert whole == receipt(service, submission_id, Viewer.ORGANIZER, Phase.REVEALED)
    assert whole.splits["private"].counts is not None


@on_sqlite
def test_receipt_needs_a_score_and_a_commitment(service):
    competition = service.competition()
    accepted = service.submit(competition)
    submission_id = accepted.submission.id
    with pytest.raises(NoReceipt):
        receipt(service, submission_id, Viewer.ORGANIZER, Phase.OPEN)
    service.score(accepted)
    with service.database.write() as session:
        session.execute(update(Solution).values(nonce=None, commitment=None))
    with pytest.raises(CommitmentPending):
        receipt(service, submission_id, Viewer.ORGANIZER, Phase.OPEN)
    write_missing_commitments(service.database, service.storage)
    noted = receipt(service, submission_id, Viewer.ORGANIZER, Phase.OPEN)
    assert noted.commitment == service.reload(competition).live_scoring_version.solution.commitment
    # A receipt that was downloaded is never regenerated.
    write_missing_commitments(service.database, service.storage)
    assert receipt(service, submission_id, Viewer.ORGANIZER, Phase.OPEN) == noted


def test_competing_submissions_are_verified_without_differences(service, closed: Competition):
    job = run(service, ask_to_verify(service, closed))
    assert job.state is JobState.DONE, job.problems
    assert job.result["differences"] == []
    assert len(job.result["submission_ids"]) == 6  # two per team
    assert job.result["value_count"] > 6 * 30


@on_sqlite
def test_stored_value_that_was_tampered_with_is_found(service, closed: Competition):
    with service.database.write() as session:
        version = lookup.live(lookup.get(session, slug=closed.slug))
        chosen = verification.competing(session, version=version)[0]
        score = session.scalars(
            select(Score).where(Score.submission_id == chosen.id, Score.split == Split.PRIVATE)
        ).one()
        score.evidence = score.evidence | {"overall_wins": score.evidence["overall_wins"] + 1}
        name, number = chosen.team.name, chosen.id
    job = run(service, ask_to_verify(service, closed))
    assert job.state is JobState.DONE
    assert [(each["submission_id"], each["team"], each["what"]) for each in job.result["differences"]] == [
        (number, name, "private overall_wins")
    ]


@on_sqlite
def test_lost_file_is_a_difference_and_does_not_stop_the_verification(service, closed: Competition):
    with service.database.read() as session:
        version = lookup.live(lookup.get(session, slug=closed.slug))
        chosen = verification.competing(session, version=version)[1]
    service.storage.delete(chosen.sha256)
    job = run(service, ask_to_verify(service, closed))
    assert job.state is JobState.DONE
    assert [(each["submission_id"], each["what"]) for each in job.result["differences"]] == [
        (chosen.id, "file")
    ]
    assert len(job.result["submission_ids"]) == 6


@on_sqlite
@pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))
def test_metric_in_python_runs_again_for_the_verification(service):
    closes_at = service.now + timedelta(hours=1)
    competition = use_python_metric(service, service.competition(closes_at=closes_at), MEAN)
    accepted = [service.submit(competition, user=name, seed=seed) for seed, name in enumerate(("ada", "bob"))]
    for each in accepted:
        service.score(each)
    found = receipt(service, accepted[0].submission.id, Viewer.ORGANIZER, Phase.OPEN)
    assert (found.exactness, found.splits["public"].terms) == ("opaque", {})
    assert found.splits["public"].evidence["sandbox"] == list(layers().in_force)
    assert Receipt.from_json(found.to_json()) == found
    service.act(close.settle, competition=competition, after=LATER)
    result = run(service, ask_to_verify(service, service.reload(competition))).result
    assert (result["value_count"], result["differences"]) == (4, [])

    with service.database.write() as session:
        wrong = session.scalars(select(Score).where(Score.split == Split.PRIVATE)).first()
        wrong.score += 0.001
        expected = (wrong.submission_id, str(wrong.score))
    (difference,) = run(service, ask_to_verify(service, service.reload(competition))).result["differences"]
    assert (difference["submission_id"], difference["stored"]) == expected
    assert difference["what"] == "private score"


@on_sqlite
def test_killed_verification_resumes_without_repeating_submissions(
    service, closed: Competition, monkeypatch: pytest.MonkeyPatch
):
    recounted: list[int] = []
    recount = closing_jobs.verify_scores

    def counted(found: Receipt, **options):
        if len(recounted) == 3:
            recounted.append(0)
            raise SystemExit("kill -9")
        recounted.append(found.submission)
        return recount(found, **options)

    monkeypatch.setattr(closing_jobs, "verify_scores", counted)
    monkeypatch.setattr(context, "KEEP_SECONDS", 0.0)
    job = ask_to_verify(service, closed)
    with pytest.raises(SystemExit):
        run(service, job, lease=timedelta())
    job = run(service, job)
    assert job.state is JobState.DONE
    done = [number for number in recounted if number]
    assert sorted(done) == sorted(set(done)) == job.result["submission_ids"]


@on_sqlite
def test_verification_needs_a_close_and_a_competing_submission(service):
    competition = service.competition(closes_at=service.now + timedelta(hours=1))
    with pytest.raises(NotClosed):
        service.act(verification.request, competition=competition)
    with pytest.raises(NotSettled):
        service.act(verification.request, competition=competition, after=LATER)
    service.act(close.settle, competition=competition, after=LATER)
    competition = service.reload(competition)
    job = run(service, ask_to_verify(service, competition))
    assert job.state is JobState.REJECTED
    assert "nothing to verify" in job.problems[0]["message"]


def unpacked(service, job: OrganizerJob) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(service.storage.read(job.result["sha256"]))) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def test_bundle_contains_the_final_standings_and_no_solution(service, closed: Competition):
    competition = finish(service, closed)
    job = run(service, ask_for_bundle(service, competition, with_solution=False))
    assert job.state is JobState.DONE, job.problems
    files = unpacked(service, job)
    assert sorted(files) == [
        "CITATION.cff",
        "README.txt",
        "SHA256SUMS",
        "accuracy-fairness.svg",
        "boards/private.csv",
        "boards/private.json",
        "boards/public.csv",
        "boards/public.json",
        "croissant.json",
        "hashes.csv",
        "identities/private.csv",
        "identities/public.csv",
        "metric.json",
        "metric.md",
        "results.html",
    ]
    board = json.loads(files["boards/private.json"])
    assert [team["rank"] for team in board["teams"]] == [1, 2, 3]
    lines = list(csv.DictReader(io.StringIO(files["boards/private.csv"].decode())))
    assert [line["team"] for line in lines] == [team["team"] for team in board["teams"]]
    assert {line["team"] for line in lines} == {"ada", "bob", "cyd"}
    tables = list(csv.DictReader(io.StringIO(files["identities/public.csv"].decode())))
    assert {len(line["bpsn_auc"]) for line in tables} == {4}
    assert not any(word in files["identities/public.csv"].decode() for word in ("positives", "size"))
    assert json.loads(files["metric.json"])["solution"]["commitment"] in files["hashes.csv"].decode()
    solution = competition.live_scoring_version.solution
    told = b"".join(files.values()).decode()
    assert solution.commitment in told and solution.nonce not in told and solution.digest not in told
    described = json.loads(files["croissant.json"])
    hashes = {each["contentUrl"]: each["sha256"] for each in described["distribution"]}
    tables = [name for name in files if name.endswith(".csv") and "/" in name]
    assert hashes == {name: hashlib.sha256(files[name]).hexdigest() for name in tables}
    chart = ElementTree.fromstring(files["accuracy-fairness.svg"])
    texts = {each.text for each in chart.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Overall AUC", "Worst bias term"} < texts and texts & {"ada", "bob", "cyd"}
    assert b"accuracy-fairness.svg" in files["README.txt"] and b"accuracy-fairness" in files["SHA256SUMS"]
    page = files["results.html"].decode()
    assert "<script" not in page
    assert "http-equiv" not in page
    assert "src=" not in page
    # The published form of the solution is stored only if the organizer chooses to include it.
    assert not service.storage.exists(job.result["solution"])


@on_sqlite
def test_bundle_names_the_divisions_of_that_time(service, closed: Competition):
    with service.database.write() as session:
        session.get_one(Competition, closed.id).divisions = "A\nB"
    service.act(divisions.assign_lines, competition=closed, text="ada,A\nbob,B")
    competition = finish(service, closed)
    with service.database.write() as session:
        for team in session.scalars(select(Team)):
            team.division = None
    files = unpacked(service, run(service, ask_for_bundle(service, competition, with_solution=False)))
    known = {"ada": "A", "bob": "B", "cyd": None}
    told = json.loads(files["boards/private.json"])["teams"]
    assert {team["team"]: team["division"] for team in told} == known
    lines = csv.DictReader(io.StringIO(files["boards/private.csv"].decode()))
    assert {line["team"]: line["division"] or None for line in lines} == known
    assert b"<td>A</td>" in files["results.html"]


def test_bundle_with_the_solution_verifies_itself(service, closed: Competition, tmp_path):
    competition = finish(service, closed)
    job = run(service, ask_for_bundle(service, competition, with_solution=True))
    files = unpacked(service, job)
    assert hashlib.sha256(files["solution.csv"]).hexdigest() == job.result["solution"]
    assert job.result["solution"] == competition.live_scoring_version.solution.digest
    nonce = bytes.fromhex(files["solution-nonce.txt"].decode())
    commitment = hashlib.sha256(nonce + files["solution.csv"]).hexdigest()
    assert f"commitment to the solution,1,{commitment}" in files["hashes.csv"].decode()
    names = [name for name in files if name.startswith("receipts/")]
    assert len(names) == 3
    for name in names:
        found = Receipt.from_json(files[name])
        checks = verify(found, submission=bytes_of(service, found.submission), solution=files["solution.csv"])
        assert all(check.holds for check in checks)
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=tmp_path, check=True)


@on_sqlite
def test_same_results_give_the_same_bytes(service, closed: Competition):
    competition = finish(service, closed)
    one, other = (
        run(service, ask_for_bundle(service, competition, with_solution=True)).result["sha256"]
        for _ in range(2)
    )
    assert one == other


@on_sqlite
def test_bundle_needs_the_final_standings(service, closed: Competition):
    with pytest.raises(NotFinal):
        service.act(bundle.request, competition=closed, with_solution=False, after=LATER)
    service.act(close.reveal, competition=closed, after=LATER)
    with pytest.raises(NotFinal):
        service.act(bundle.request, competition=closed, with_solution=False, after=LATER)


@on_sqlite
def test_solution_is_published_once_after_the_reveal_and_publicly_logged(service, closed: Competition):
    with service.database.write() as session:
        with pytest.raises(NotRevealed):
            publication.publish(session, competition=closed, actor=ACTOR, now=service.now + LATER)
        with pytest.raises(SolutionNotPublished):
            publication.digest(closed)
        close.reveal(session, competition=closed, actor=ACTOR, now=service.now + LATER)
        job = publication.publish(session, competition=closed, actor=ACTOR, now=service.now + LATER)
    competition = service.reload(closed)
    assert run(service, job).state is JobState.DONE
    digest = publication.digest(competition)
    assert hashlib.sha256(service.storage.read(digest)).hexdigest() == digest
    with service.database.write() as session:
        with pytest.raises(SolutionPublished):
            publication.publish(session, competition=competition, actor=ACTOR, now=service.now + LATER)
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "solution.publish")).one()
        assert entry.is_public
        nonce = bytes.fromhex(entry.after["nonce"])
        assert hashlib.sha256(nonce + service.storage.read(digest)).hexdigest() == entry.after["commitment"]
        assert publication.nonce(competition) == entry.after["nonce"]
    service.storage.delete(digest)  # This happens after a restore from a backup.
    write_missing_files(service.database, service.storage)
    assert hashlib.sha256(service.storage.read(digest)).hexdigest() == digest
