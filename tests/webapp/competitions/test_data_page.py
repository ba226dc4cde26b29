"""Data page: previews of available files, and one ZIP archive of all files."""

import io
import zipfile
from datetime import timedelta

import pytest

from grader.models import DataCheckState
from grader.services.competitions import lookup
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files

HERE = "/competitions/toxicity/data"
TRAIN = b"comment,length\n<b>first</b>,7\nsunday,9\n"


@pytest.fixture
def site(arena):
    """A competition with a checked file and Ann, who may download it."""
    arena.competition()
    arena.ann, arena.root = arena.person("Ann"), arena.person("Root", is_admin=True)
    add(arena, "train.csv", TRAIN)
    arena.work()
    return arena


def add(arena, name, data):
    blob = arena.storage.put(data)
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        files.add(
            session, competition=competition, name=name, blob=blob, actor=Actor.shell(), now=arena.now()
        )


def hold(arena, name):
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        files.get(session, competition=competition, name=name).check_state = DataCheckState.HELD


def test_the_preview_shows_rows_and_statistics_as_text(site):
    page = site.ann.browser.get(HERE).text
    assert "&lt;b&gt;first&lt;/b&gt;" in page
    assert "computed from the first 2 rows" in page
    assert '<th scope="row">length</th><td class="number">0</td><td class="number">2</td>' in page
    assert '<td class="number">7</td><td class="number">8</td><td class="number">9</td>' in page


def test_only_users_who_may_download_a_file_see_its_preview(site):
    assert "sunday" not in site.app.test_client().get(HERE).text
    hold(site, "train.csv")
    assert "sunday" not in site.ann.browser.get(HERE).text
    assert "sunday" in site.root.browser.get(HERE).text
    with site.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        files.get(session, competition=competition, name="train.csv").check_state = DataCheckState.PASSED
        competition.opens_at = site.now() + timedelta(days=1)
    assert "sunday" not in site.ann.browser.get(HERE).text


def test_one_zip_contains_all_files_that_a_user_may_download(site):
    add(site, "held.csv", b"x\n1\n")
    hold(site, "held.csv")
    assert f"{HERE}/all.zip" in site.ann.browser.get(HERE).text
    answer = site.ann.browser.get(f"{HERE}/all.zip")
    with zipfile.ZipFile(io.BytesIO(answer.data)) as packed:
        assert packed.namelist() == ["sample_submission.csv", "train.csv"]
        assert packed.read("train.csv") == TRAIN
    stranger = site.app.test_client()
    assert f"{HERE}/all.zip" not in stranger.get(HERE).text
    assert stranger.get(f"{HERE}/all.zip").status_code == 302
    assert int(answer.headers["Content-Length"]) == len(answer.data)
