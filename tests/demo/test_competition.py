import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.demo import competition
from grader.demo.competition import (
    ACCOUNTS,
    FILES,
    NEWCOMER,
    ORGANIZER,
    Demo,
    DemoProgress,
    StepPrinter,
    create_competition,
    write_files,
)
from grader.demo.dataset import generate
from grader.demo.run import tell_how_to_go_on
from grader.demo.service import DemoInstallation


def test_next_start_continues_from_the_saved_progress(tmp_path):
    progress = DemoProgress.of(tmp_path, resume=False)
    progress.tokens["words"] = "token"
    progress.submissions["word-pairs"] = 7
    progress.write()
    assert DemoProgress.of(tmp_path, resume=True) == progress
    assert DemoProgress.of(tmp_path, resume=False).tokens == {}


def test_logins_are_readable_only_by_their_owner(tmp_path):
    progress = DemoProgress.of(tmp_path, resume=False)
    progress.write()
    assert progress.path.stat().st_mode & 0o077 == 0


def test_steps_are_numbered():
    said: list[str] = []
    steps = StepPrinter(12, said.append)
    steps.begin("one")
    steps.begin("two")
    assert said == ["[ 1/12] one", "[ 2/12] two"]


@pytest.fixture
def demo(arena, tmp_path: Path) -> Demo:
    """The demo's commands, on a site that does not have the demo competition."""
    installation = DemoInstallation("127.0.0.1", 1, os.environ | arena.settings.environment())
    return Demo(installation, tmp_path / "demo", print, competition.steps(print))


def test_newcomer_can_download_the_data_run_the_script_and_get_a_score(arena, demo, tmp_path):
    write_files(demo)
    create_competition(demo)
    arena.format_texts()
    newcomer = arena.person("newcomer")
    home = newcomer.browser.get("/competitions/demo").text
    assert 'href="/competitions/demo/data"' in home
    page = newcomer.browser.get("/competitions/demo/data").text
    links = set(re.findall(r'href="(/competitions/demo/data/files/([\w.]+))"', page))
    assert {name for _, name in links} == {"train.csv", "test.csv", "first_submission.py"}
    assert "noqa" not in newcomer.browser.get("/competitions/demo/data/files/first_submission.py").text
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    for address, name in links:
        (downloads / name).write_bytes(newcomer.browser.get(address).data)
    assert sum(path.stat().st_size for path in downloads.iterdir()) < 5_000_000

    done = subprocess.run(
        [sys.executable, "first_submission.py"], cwd=downloads, capture_output=True, text=True, check=True
    )
    assert "10,000 predictions" in done.stdout
    assert 'href="/competitions/demo/submit"' in page
    with (downloads / "submission.csv").open("rb") as file:
        sent = newcomer.post("/competitions/demo/submit", {"file": (file, "submission.csv")})
    assert sent.status_code in (302, 303), sent.text
    arena.score_all()
    answer = newcomer.browser.get("/api/v1/competitions/demo/leaderboard", headers=newcomer.bearer).json
    (row,) = answer["rows"]
    assert (row["team"], row["entries"]) == ("newcomer", 1)
    assert row["score"] > 0.9


@pytest.mark.long
def test_draft_of_an_interrupted_start_is_replaced(demo):
    generate(train_rows=200, test_rows=6000).write(demo.folder)
    shutil.copytree(FILES, demo.folder, dirs_exist_ok=True)
    demo.installation.command("competition", "create", str(demo.folder / "competition.toml"))
    assert demo.installation.command("competition", "list").split("\t")[1] == "draft"
    create_competition(demo)
    assert demo.installation.command("competition", "list").split("\t")[1] == "open"


@pytest.mark.long
def test_accounts_are_created_once_and_one_is_the_administrator(arena, demo):
    def made(*names: str) -> dict[str, dict[str, str]]:
        return {each["name"]: each for each in demo.installation.make_accounts(ORGANIZER, *names)}

    first = made("words", ORGANIZER)
    browser = arena.app.test_client()
    assert arena.log_in(browser, ORGANIZER, first[ORGANIZER]["password"]).status_code == 302
    assert "organizer (administrator)" in demo.installation.command("user", "list")
    again = made("words", NEWCOMER)
    assert again["words"]["password"] is None
    assert again[NEWCOMER]["password"]
    assert demo.installation.command("user", "list").count("(administrator)") == 1


def test_one_login_link_is_printed_and_passwords_are_in_a_private_file(arena, demo):
    demo.folder.mkdir()
    demo.installation.make_accounts(ORGANIZER, NEWCOMER)
    progress = DemoProgress(demo.folder / "progress.json", {name: f"secret of {name}" for name in ACCOUNTS})
    said: list[str] = []
    tell_how_to_go_on(replace(demo, say=said.append), arena.settings, progress)
    assert "secret of" not in said[0]
    [link] = re.findall("/login/.*", said[0])
    browser = arena.app.test_client()
    assert b"Log in as <bdi>newcomer</bdi>" in browser.get(link).data
    answer = browser.post(link, data={"csrf_token": arena.form_token(browser)})
    assert answer.status_code == 302
    assert b"newcomer" in browser.get("/").data
    assert browser.get(link).status_code == 404
    file = demo.folder / "logins.txt"
    assert str(file) in said[0]
    assert set(re.findall("secret of (.*)", file.read_text())) == set(ACCOUNTS)
    assert file.stat().st_mode & 0o077 == 0
