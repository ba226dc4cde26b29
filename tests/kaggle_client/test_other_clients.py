"""Other Kaggle clients: kaggle 2.2.5 (current), kaggle 1.6.17 and kagglehub.

Each client is installed from a hash-locked file into a separate folder. kaggle 2.2.5 is installed without its
dependencies because it requires a newer certifi than the one locked for the development environment.
"""

import csv
import sys
import zipfile

import pytest

from tests.fixtures.locks import install_locked
from tests.kaggle_client.conftest import Desk

SLUG = "toxicity"
MAIN = "from kaggle.cli import main; main()"
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def desk_with(hall, tmp_path_factory):
    """A function that creates a user whose folder has the packages of a lock file."""
    hall.arena.competition(rules="Be nice.")

    def make(name: str, lock: str, code: str = MAIN) -> Desk:
        folder = install_locked(lock, tmp_path_factory.mktemp(lock))
        desk = hall.desk(name)
        desk.join(SLUG)
        desk.command = (sys.executable, "-c", code)
        desk.more = {"PYTHONPATH": str(folder)}
        return desk

    return make


def test_the_current_command_waits_for_its_score(desk_with, hall):
    ann = desk_with("Ann", "kaggle-2.2.5")
    assert "2.2.5" in ann.ok("--version")
    ann.write("sub.csv", hall.arena.truth.predictions(noise=1.5, seed=1))
    told = ann.ok("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "first", "--wait", "60", "-q")
    (line,) = csv.DictReader(ann.ok("competitions", "submissions", SLUG, "-v").splitlines())
    assert line["ref"] in told
    assert line["publicScore"] in ann.ok("competitions", "submission", line["ref"])
    ann.ok("competitions", "submission-download", line["ref"])
    ann.write("bad.csv", b"id,prediction\n7000000,x\n")
    refused = ann.run("competitions", "submit", SLUG, "-f", "bad.csv", "-m", "bad", "--wait", "60", "-q")
    assert refused.returncode == 1
    assert "7000000" in refused.stderr + refused.stdout or "number" in refused.stderr + refused.stdout
    ann.ok("competitions", "download", SLUG, "--unzip")
    assert (ann.folder / "sample_submission.csv").read_bytes().startswith(b"id,prediction")


def test_the_old_command_works_with_any_server_url(desk_with, hall):
    old = desk_with("Old", "kaggle-1.6")
    old.more |= {
        "KAGGLE_API_ENDPOINT": hall.url,
        "KAGGLE_USERNAME": "Old",
        "KAGGLE_KEY": old.token,
        "http_proxy": "",
    }
    (line,) = csv.DictReader(old.ok("competitions", "list", "-v").splitlines())
    assert line["ref"].endswith(SLUG)
    assert "sample_submission.csv" in old.ok("competitions", "files", SLUG)
    old.ok("competitions", "download", SLUG, "-f", "sample_submission.csv")
    assert (old.folder / "sample_submission.csv").read_bytes().startswith(b"id,prediction")
    old.ok("competitions", "download", SLUG)
    assert zipfile.is_zipfile(old.folder / f"{SLUG}.zip")
    old.write("sub.csv", hall.arena.truth.predictions(noise=1.4, seed=5))
    assert "Successfully submitted" in old.ok("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "first")
    (line,) = csv.DictReader(old.ok("competitions", "submissions", SLUG, "-v").splitlines())
    assert line["status"] == "complete"
    assert "Old" in old.ok("competitions", "leaderboard", SLUG, "--show")
    old.ok("competitions", "leaderboard", SLUG, "--download")
    told = old.run("competitions", "files", "nowhere")
    assert told.returncode == 1
    assert "There is no competition 'nowhere'." in told.stderr + told.stdout


def test_kagglehub_downloads_a_competition(desk_with):
    code = f"import kagglehub, os; print(os.listdir(kagglehub.competition_download({SLUG!r})))"
    hub = desk_with("Hub", "kagglehub", code)
    assert "sample_submission.csv" in hub.ok()
