"""Formatting in a child process: hostile texts, time shares, stored HTML, pages."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from grader.models import Announcement, Competition
from grader.prose import markdown
from grader.prose.drawn import TOO_COMPLEX, plain
from grader.services.competitions import acting, figures, formatted_texts, lookup
from grader.services.competitions.figures import picture_of
from grader.services.site.log import Actor
from grader.storage.stores import StoredBlob
from grader.worker.children import formatter as formatting
from grader.worker.children.formatter import Formatter
from grader.worker.process import shares
from grader.worker.process.child import AnsweringProcess
from grader.worker.process.shares import ShareUsed
from tests.services.competitions.test_pictures import png

pytestmark = pytest.mark.system

HERE = "/competitions/toxicity"
NESTED = r"\mathrm(" * 40  # math_core takes 2^n time for this text.
# Each short row is padded with empty cells.
TABLE = "|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + "|\n" * 5000 + "\n"


@pytest.fixture
def formatter() -> Iterator[Formatter]:
    made = Formatter()
    yield made
    made.close()


@pytest.mark.parametrize("text", [f"Let ${NESTED}$ be.\n\n**x** <b>", TABLE * 9], ids=["formula", "table"])
def test_slow_text_ends_the_child_and_is_shown_unformatted(formatter: Formatter, text: str):
    drawn = formatter.format(text)
    assert drawn.faults == (TOO_COMPLEX,)
    assert drawn.html == plain(text) and "<b>" not in drawn.html
    assert formatter.format("**x**").html == "<p><strong>x</strong></p>\n"  # A new child formats this text.


def test_text_with_much_longer_html_is_shown_unformatted(formatter: Formatter):
    text = f"[a]: http://a/{'x' * 2000}\n\n{'[a] ' * 600}"
    drawn = formatter.format(text)
    assert (drawn.html, drawn.faults) == (plain(text), (TOO_COMPLEX,))


def test_formatted_text_is_not_formatted_again(formatter: Formatter):
    first = formatter.format("$x$")
    formatter.close()
    assert formatter.format("$x$") is first
    assert formatter._child.process is None


def test_child_killed_from_outside_is_not_the_texts_fault(formatter: Formatter, monkeypatch):
    formatter.format("x")
    assert formatter._child.process is not None
    os.kill(formatter._child.process.pid, signal.SIGSTOP)
    monkeypatch.setattr(formatting, "ANSWER_SECONDS", 0.2)
    with pytest.raises(ShareUsed):
        formatter.format("y")
    monkeypatch.undo()
    assert formatter.format("y").faults == ()


def test_user_has_a_share_of_the_childs_time(formatter: Formatter, monkeypatch):
    monkeypatch.setattr(shares, "SHARE_SECONDS", 1e-9)
    formatter.format("a", who=1)
    with pytest.raises(ShareUsed, match="Your texts took"):
        formatter.format("b", who=1)
    formatter.format("c", who=2)
    with (
        formatter._shares.hold(3),
        pytest.raises(ShareUsed, match="Another of your texts is being formatted"),
    ):
        formatter.format("d", who=3)
    assert "a" in formatter.format("a", who=1).html  # This text is already formatted.


def test_pages_show_a_hostile_text_without_formatting_it(arena, monkeypatch):
    news = Announcement(body=f"News ${NESTED}$", title="News")
    with arena.database.write() as session:
        competition = arena.competition(
            overview=f"# Hi\n\n${NESTED}$", rules="**Be** fair.", evaluation="*e*"
        )
        news.competition_id, news.posted_at = competition.id, arena.now()
        session.add(news)
    monkeypatch.setattr(Formatter, "_ask", None)
    reader = arena.app.test_client()
    started = time.process_time()
    for path in ("/", HERE, f"{HERE}/join", f"{HERE}/evaluation", f"{HERE}/data"):
        assert reader.get(path).status_code == 200
    assert time.process_time() - started < 10
    assert "**Be** fair." in reader.get(f"{HERE}/join").text  # The text is shown unformatted.
    monkeypatch.undo()
    arena.format_texts()
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
    sent = {"figure": (io.BytesIO(png(2, 2)), "p.png"), "title": "Toxicity"}
    assert root.post(f"{HERE}/organize/settings/basics/figures", sent).status_code == 200
    assert client.get(HERE).text.count('<img src="/competitions/toxicity/figures/p.png?version=') == 2


def test_text_that_kills_its_child_blocks_no_other_row_and_fails_on_the_second_attempt(
    arena, formatter: Formatter, monkeypatch
):
    arena.competition(overview="bad")
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        news = Announcement(competition_id=competition.id, title="T", body="**b**", posted_at=arena.now())
        session.add(news)
    ask = AnsweringProcess.ask

    def ask_or_kill(child: AnsweringProcess, question: bytes, **given) -> bytes:
        if b'"bad"' in question:
            child.signal_all(signal.SIGKILL)
        return ask(child, question, **given)

    monkeypatch.setattr(AnsweringProcess, "ask", ask_or_kill)
    assert "**b**" in formatter.format_waiting(arena.database)
    assert formatter.format_waiting(arena.database)["bad"].faults == (TOO_COMPLEX,)
    with arena.database.read() as session:
        assert formatted_texts.waiting(session, limit=9) == []


def test_new_figure_keeps_the_html_of_texts_without_figures(arena):
    arena.competition(rules="*old*")
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        for body in ("**b**", "![P](p.png)"):
            session.add(
                Announcement(competition_id=competition.id, title="T", body=body, posted_at=arena.now())
            )
    arena.format_texts()
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


def test_unformatted_change_by_an_older_release_is_shown_unformatted(arena):
    arena.competition(rules="*old*")
    arena.format_texts()
    with arena.database.write() as session:
        session.execute(Competition.__table__.update().values(rules="*new*"))
    page = arena.app.test_client().get(f"{HERE}/join").text
    assert "*new*" in page and "old" not in page


def test_web_loads_no_converter_for_stored_texts():
    code = "import sys, webapp.app; sys.exit('math_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path.cwd(), check=False).returncode == 0
