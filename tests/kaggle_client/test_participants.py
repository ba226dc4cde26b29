"""Participants' kaggle commands."""

import csv
import json
import zipfile

import pytest

from grader.models import DataCheckState
from grader.services.competitions import lookup
from grader.services.identity.api_tokens import Scope
from grader.services.site.log import Actor
from grader.services.solutions import data_files

SLUG = "toxicity"
TRAIN = b"id,text\n1,a\n2,b\n" * 1000


@pytest.fixture(scope="module")
def ann(hall):
    """Ann, a participant in a competition that has a data file."""
    arena = hall.arena
    arena.competition(overview="What it is about.", rules="Be nice.", max_daily_submissions=3)
    with arena.database.write() as session:
        competition = lookup.get(session, slug=SLUG)
        blob = arena.storage.put(TRAIN)
        file = data_files.add(
            session,
            competition=competition,
            name="train (1).csv",
            blob=blob,
            actor=Actor(None, "tests"),
            now=arena.now(),
        )
        file.check_state, file.findings = DataCheckState.PASSED, {"sha256": blob.sha256}
    ann = hall.desk("Ann")
    told = ann.run("competitions", "download", SLUG)
    assert told.returncode == 1
    assert told.stderr == "You have not joined this competition yet. Join it on its Rules page.\n"
    ann.join(SLUG)
    return ann


def test_competitions_are_listed(ann):
    told = ann.ok("competitions", "list", "-v", "-s", "toxic")
    (line,) = csv.DictReader(told.splitlines())
    assert line["ref"] == SLUG
    assert line["userHasEntered"] == "True"
    assert "No competitions found" in ann.ok("competitions", "list", "-s", "nothing like it")


def test_files_are_listed_and_downloaded_individually_and_together(ann):
    assert "sample_submission.csv" in ann.ok("competitions", "files", SLUG)
    ann.ok("competitions", "download", SLUG, "-f", "train (1).csv")
    assert (ann.folder / "train%20(1).csv").read_bytes() == TRAIN
    ann.ok("competitions", "download", SLUG)
    with zipfile.ZipFile(ann.folder / f"{SLUG}.zip") as packed:
        assert packed.testzip() is None
        assert packed.read("train (1).csv") == TRAIN
        assert packed.read("sample_submission.csv").startswith(b"id,prediction")
    assert "Skipping" in ann.ok("competitions", "download", SLUG)
    told = ann.run("competitions", "download", SLUG, "-f", "guessed.csv")
    assert (told.returncode, told.stderr) == (1, "This competition has no file 'guessed.csv'.\n")


def test_a_submission_is_sent_scored_and_listed(ann, hall):
    predictions = hall.arena.truth.predictions(noise=1.5, seed=1)
    ann.write("sub.csv", predictions)
    told = ann.ok("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "first try")
    assert "2 submissions remaining today." in told
    assert "Successfully submitted to Toxicity" in told
    (line,) = csv.DictReader(ann.ok("competitions", "submissions", SLUG, "-v").splitlines())
    assert (line["fileName"], line["description"]) == ("sub.csv", "first try")
    assert line["status"] == "SubmissionStatus.COMPLETE"
    assert float(line["publicScore"]) > 0.5
    assert line["privateScore"] == ""
    assert "Ann" in ann.ok("competitions", "leaderboard", SLUG, "--show")
    ann.ok("competitions", "leaderboard", SLUG, "--download")
    with zipfile.ZipFile(ann.folder / f"{SLUG}.zip") as packed:
        (board,) = (packed.read(name).decode() for name in packed.namelist())
    (ranked,) = csv.DictReader(board.splitlines())
    assert (ranked["Rank"], ranked["TeamName"], ranked["Score"]) == ("1", "Ann", line["publicScore"])
    assert line["publicScore"] in ann.ok("competitions", "team-submissions", ranked["TeamId"])


@pytest.mark.usefixtures("ann")
def test_errors_of_a_file_are_reported_and_use_no_submission(hall):
    bob = hall.desk("Bob")
    bob.join(SLUG)
    bob.write("bad.csv", b"id,prediction\n7000000,x\n")
    bob.write("empty.csv", b"")
    for name in ("bad.csv", "empty.csv"):
        bob.ok("competitions", "submit", SLUG, "-f", name, "-m", "oops", "-q")
    empty, bad = csv.DictReader(bob.ok("competitions", "submissions", SLUG, "-v").splitlines())
    assert empty["status"] == bad["status"] == "SubmissionStatus.ERROR"
    assert bad["description"].startswith("oops | ")
    told = bob.ok("competitions", "submission-limits", SLUG, "--json")
    assert json.loads(told)["numAllowedNow"] == 3


def test_only_organizers_send_test_submissions(ann, hall):
    ann.write("test.csv", hall.arena.truth.predictions(noise=1.6, seed=2))
    told = ann.run("competitions", "submit", SLUG, "-f", "test.csv", "-m", "test", "--sandbox", "-q")
    assert told.returncode == 1
    assert told.stderr.startswith("Only organizers can send test submissions")


def test_errors_are_readable(ann, hall):
    told = ann.run("competitions", "files", "nowhere")
    assert (told.returncode, told.stderr) == (1, "There is no competition 'nowhere'.\n")
    told = ann.run("datasets", "list")
    assert told.returncode == 1
    assert "Fairboard does not support this" in told.stderr
    reader = hall.desk("Rea", scopes=[Scope.READ])
    reader.write("sub.csv", b"id,prediction\n")
    told = reader.run("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "x")
    assert told.returncode == 1
    assert "This request requires the scope submit" in told.stderr


def test_the_pages_of_a_competition_are_printed(ann):
    told = ann.ok("competitions", "pages", "-c", SLUG, "--content")
    assert "What it is about." in told
    assert "Be nice." in told
    assert "The score is" in told
