"""Closing a competition in the shell: verification, bundle, receipts, published solution."""

import hashlib
import json
import re
import zipfile
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Score
from grader.services.closing import close
from grader.services.competitions import lookup

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def closed(service, admin):
    """A closed, settled competition; the value is the id of its only scored submission."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1))
    accepted = service.submit(competition, skill=0.5)
    service.score(accepted)
    with service.database.write() as session:
        close.settle(session, competition=competition)
    return accepted.submission.id


def test_a_difference_found_by_the_verification_exits_with_1(admin, service, closed):
    result = admin("competition", "verify", "toxicity")
    assert result.exit_code == 0, result.output
    assert "All values match exactly: 1 submission, " in result.stdout
    with service.database.write() as session:
        session.scalars(select(Score)).first().score += 1e-9
    result = admin("competition", "verify", "toxicity")
    assert result.exit_code == 1
    assert "score: stored" in result.stderr
    assert "1 difference (" in result.stderr
    with service.database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "verification.start")).all()
        assert {entry.origin.partition(" ")[0] for entry in entries} == {"shell"}


def test_unverified_standings_become_final_after_confirmation(admin, service, closed):
    early = admin("competition", "finalize", "toxicity")
    assert "can only become final after" in early.stderr and "without a verification" not in early.output
    admin("competition", "reveal", "toxicity", "--yes")
    for answers in (
        "n\n",
        "",
    ):  # In the second case, a script without --yes, no one can answer.
        refused = admin("competition", "finalize", "toxicity", input=answers)
        assert refused.exit_code == 1
        assert "The competing submissions have not been verified." in refused.stderr
        assert "Verify first." in refused.stderr
        assert "Nothing was changed." in refused.stderr
        assert finalized_at(service) is None
    done = admin("competition", "finalize", "toxicity", input="y\n")
    assert (done.exit_code, "stored as final standings 1" in done.stdout) == (0, True), done.output
    assert finalized_at(service) is not None


def test_verified_standings_become_final_without_a_question(admin, service, closed):
    assert admin("competition", "verify", "toxicity").exit_code == 0
    assert admin("competition", "reveal", "toxicity", "--yes").exit_code == 0
    done = admin("competition", "finalize", "toxicity", "--yes")
    assert done.exit_code == 0, done.output
    assert "not been verified" not in done.output


def finalized_at(service):
    with service.database.read() as session:
        return lookup.get(session, slug="toxicity").finalized_at


def test_a_receipt_and_a_bundle_with_the_solution_verify_each_other(
    admin, service, closed, tmp_path, predictions_csv
):
    refused = admin("competition", "bundle", "toxicity")
    assert refused.exit_code == 1
    assert "Make the standings final first" in refused.stderr
    admin("competition", "reveal", "toxicity", "--yes")
    admin("competition", "finalize", "toxicity", "--yes")
    out = tmp_path / "results.zip"
    result = admin("competition", "bundle", "toxicity", "--with-solution", "--out", out)
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "toxicity-final-1"
    printed = admin("competition", "receipt", "toxicity", closed).stdout
    assert printed == (folder / "receipts" / f"{closed}.json").read_text()
    (tmp_path / "submission.csv").write_bytes(predictions_csv(skill=0.5))
    result = admin(
        "verify",
        folder / "receipts" / f"{closed}.json",
        "--solution",
        folder / "solution.csv",
        "--submission",
        tmp_path / "submission.csv",
    )
    assert result.exit_code == 0, result.output
    assert "all match the receipt" in result.stdout


def test_the_solution_is_published_once_and_its_hash_is_printed(admin, service, closed):
    refused = admin("competition", "publish-solution", "toxicity", "--yes")
    assert refused.exit_code == 1
    assert "Reveal it before you publish the solution" in refused.stderr
    admin("competition", "reveal", "toxicity", "--yes")
    result = admin("competition", "publish-solution", "toxicity", "--yes")
    assert result.exit_code == 0, result.output
    digest, nonce = re.search(r"sha256 is (\w+) and its nonce (\w+)\.", result.stdout).groups()
    assert hashlib.sha256(service.storage.read(digest)).hexdigest() == digest
    receipt = json.loads(admin("competition", "receipt", "toxicity", closed, "--version", 1).stdout)
    solution = bytes.fromhex(nonce) + service.storage.read(digest)
    assert receipt["solution"]["commitment"] == hashlib.sha256(solution).hexdigest()
    assert receipt["solution"]["nonce"] == nonce
    assert admin("competition", "publish-solution", "toxicity", "--yes").exit_code == 1
    assert admin("competition", "receipt", "toxicity", 999).exit_code == 1
