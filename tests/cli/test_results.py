"""Closing a competition with commands: bundle, receipts, published solution."""

import zipfile
from datetime import timedelta

import pytest

from grader.services.closing import close

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def closed(service):
    """A closed, settled competition; the value is the id of its only scored submission."""
    competition = service.competition(closes_at=service.now + timedelta(hours=1))
    accepted = service.submit(competition, skill=0.5)
    service.score(accepted)
    with service.database.write() as session:
        close.settle(session, competition=competition)
    return accepted.submission.id


def test_a_receipt_is_verified_with_the_solution_of_the_bundle(
    host, service, closed, tmp_path, predictions_csv
):
    assert host("competition", "bundle", "toxicity").exit_code == 3
    host("competition", "reveal", "toxicity", "--yes")
    host("competition", "publish-solution", "toxicity", "--yes")
    out = tmp_path / "results.zip"
    result = host("competition", "bundle", "toxicity", "-o", out)
    assert result.exit_code == 0, result.output
    with zipfile.ZipFile(out) as archive:
        archive.extractall(tmp_path)
    receipt = tmp_path / "receipt.json"
    receipt.write_text(host("competition", "receipt", closed).stdout)
    (tmp_path / "submission.csv").write_bytes(predictions_csv(skill=0.5))
    solution = tmp_path / "toxicity" / "solution.csv"
    files = "--solution", solution, "--submission", tmp_path / "submission.csv"
    result = host("verify", receipt, *files)
    assert result.exit_code == 0, result.output
    assert "all match the receipt" in result.stdout
    for name in ("submission.csv", "missing.json"):
        assert host("verify", tmp_path / name, *files).exit_code == 2
    assert host("verify", receipt, *files, "--nonce", solution).exit_code == 2
