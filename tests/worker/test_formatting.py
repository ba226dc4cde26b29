"""Stored HTML of organizers' texts on pages."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select

from grader.models import Announcement, Competition
from grader.prose import markdown
from grader.services.competitions import acting, figures, formatted_texts, lookup
from grader.services.competitions.figures import picture_of
from grader.services.site.log import Actor
from grader.storage.stores import StoredBlob
from grader.worker import formatting, isolated
from grader.worker.formatting import format_waiting
from tests.fixtures.patience import HANG_SECONDS
from tests.services.competitions.test_pictures import png

pytestmark = pytest.mark.system

HERE = "/competitions/toxicity"
NESTED = r"\mathrm(" * 40


def test_pages_show_a_hostile_text_without_formatting_it(arena, monkeypatch):
    news = Announcement(body=f"News ${NESTED}$", title="News")
    with arena.database.write() as session:
        competition = arena.competition(
            overview=f"# Hi\n\n${NESTED}$", rules="**Be** fair.", evaluation="*e*"
        )
        news.competition_id, news.posted_at = competition.id, arena.now()
        session.add(news)
    reader = arena.app.test_client()
    with monkeypatch.context() as without_conversion:
        without_conversion.setattr(isolated, "call", None)
        for path in ("/", HERE, f"{HERE}/join", f"{HERE}/evaluation", f"{HERE}/data"):
            assert reader.get(path).status_code == 200
        assert "**Be** fair." in reader.get(f"{HERE}/join").text  # The text is shown unformatted.
    monkeypatch.setattr(formatting, "SECONDS", HANG_SECONDS)  # On a busy machine, CPU time passes slowly.
    format_waiting(arena.database)
    assert "<strong>Be</strong> fair." in reader.get(f"{HERE}/join").text
    assert "# Hi" in reader.get(HERE).text


def test_saved_text_is_formatted_immediately_and_stored_until_it_changes(arena):
    root = arena.person("Root", is_admin=True)
    arena.competition()
    api = "/api/v1/competitions/toxicity/organize"
    client = arena.app.test_client()
    changed = client.patch(f"{api}/settings", json={"overview": "**a** ![P](p.png)"}, headers=root.bearer)
    assert changed.status_code == 200, changed.text
    root.post(f"{HERE}/organize/announcements", {"title": "T", "body": "**b** ![P](p.png)", "act": "post"})
    page = client.get(HERE).text
    assert "<strong>a</strong>" in page and "<strong>b</strong>" in page and "<img" not in page
    with arena.database.read() as session:
        assert formatted_texts.waiting(session, limit=9) == []
        assert lookup.get(session, slug="toxicity").summary == "a"
    sent = {"file": (io.BytesIO(png(2, 2)), "p.png"), "title": "Toxicity"}
    assert root.post(f"{HERE}/organize/figures", sent).status_code == 201
    assert client.get(HERE).text.count('<img src="/competitions/toxicity/figures/p.png?version=') == 2


def test_new_figure_keeps_the_html_of_texts_without_figures(arena):
    arena.competition(rules="*old*")
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        for body in ("**b**", "![P](p.png)"):
            session.add(
                Announcement(competition_id=competition.id, title="T", body=body, posted_at=arena.now())
            )
    format_waiting(arena.database)
    with arena.database.write() as session:
        act = acting.begin(session, competition=competition, actor=Actor.shell(), now=arena.now())
        figures.add(act, name="p.png", picture=picture_of(png(2, 2)), blob=StoredBlob("0" * 64, 1))
        (waiting,) = formatted_texts.waiting(session, limit=9)
    assert waiting.texts == ("![P](p.png)",)


def test_html_is_recorded_only_for_the_formatted_text(arena):
    arena.competition(overview="*old*")
    with arena.database.read() as session:
        [waiting] = formatted_texts.waiting(session, limit=9)
    with arena.database.write() as session:
        session.scalars(select(Competition)).one().overview = "new"
        session.flush()
        drawn = {text: markdown.drawn(text) for text in waiting.texts}
        formatted_texts.record(session, waiting=waiting, drawn=drawn)
        assert session.scalars(select(Competition)).one().formatted is None


def test_web_loads_no_converter_for_stored_texts():
    code = "import sys, webapp.app; sys.exit('math_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path.cwd(), check=False).returncode == 0
