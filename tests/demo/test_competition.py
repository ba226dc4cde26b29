import subprocess
import sys

import pandas as pd
import pytest

from grader.demo.dataset import SUBMISSIONS, generate
from grader.demo.run import FILES, NAMES, ORGANIZER, Demo
from grader.services.identity.names import get_user
from tests.demo.oracle import leaderboards


def test_submissions_are_reproducible_and_bias_lowers_the_score(tmp_path):
    solution = generate(train_rows=1, test_rows=6000).solution
    solution.to_csv(tmp_path / "solution.csv", index=False)
    sent = []
    for seed, file in enumerate(SUBMISSIONS):
        predictions = file.predictions(solution, seed=seed)
        assert predictions.equals(file.predictions(solution, seed=seed))
        predictions.to_csv(tmp_path / f"{file.name}.csv", index=False)
        sent.append((file.team, tmp_path / f"{file.name}.csv"))
    lines = {line.team: line for line in leaderboards(tmp_path / "solution.csv", sent)["public"]}
    assert lines["blend"].rank == 1 and lines["dice"].rank == 7
    assert lines["biased"].bpsn_auc < lines["blend"].bpsn_auc - lines["blend"].bpsn_auc / 4
    assert lines["cautious"].bnsp_auc < lines["blend"].bnsp_auc


def test_starter_script_of_the_data_page_writes_a_good_submission(tmp_path):
    generate(train_rows=4000, test_rows=6000).write(tmp_path)
    script = FILES / "first_submission.py"
    (tmp_path / script.name).write_bytes(script.read_bytes())
    done = subprocess.run(
        [sys.executable, tmp_path / script.name], capture_output=True, text=True, check=True
    )
    assert "6,000 predictions" in done.stdout
    assert list(pd.read_csv(tmp_path / "submission.csv").columns) == ["id", "prediction"]
    (line,) = leaderboards(tmp_path / "solution.csv", [("newcomer", tmp_path / "submission.csv")])["public"]
    assert line.score > 0.85


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_accounts_are_created_once_and_are_readable_only_by_their_owner(service):
    demo = Demo(service.settings, lambda _: None)
    demo.folder.mkdir(parents=True)
    made = demo.accounts()
    assert made.keys() == set(NAMES) and demo.accounts() == made
    assert (demo.folder / "accounts.json").stat().st_mode & 0o077 == 0
    with service.database.read() as session:
        assert [name for name in NAMES if get_user(session, name=name).is_admin] == [ORGANIZER]
