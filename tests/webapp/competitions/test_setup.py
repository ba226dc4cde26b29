"""Competition setup in the browser: drafts, settings, publication."""

import html
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry
from grader.services.competitions import lookup, settings
from grader.services.competitions.settings_model import CompetitionSettings
from tests.fixtures.arena import main_text
from tests.fixtures.databases import set_clock
from tests.fixtures.desk import open_confirmed

HERE = "/competitions/toxicity/organize"
PAGE, SAVE = f"{HERE}/settings", f"{HERE}/settings/save"
DAY = timedelta(days=1)


def settings_of(arena, slug="toxicity"):
    with arena.database.read() as session:
        return settings.of(lookup.get(session, slug=slug))


def form_of(page):
    """Return the values that a browser would send for a page's unchanged settings form."""
    form = page[page.index('<form id="settings"') :].partition("</form>")[0]
    values = {}
    for tag in re.findall(r"<input [^>]*>", form):
        parts = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" not in parts or (parts.get("type") in {"radio", "checkbox"} and " checked" not in tag):
            continue
        values[parts["name"]] = html.unescape(parts.get("value", ""))
    texts = re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>\n?([^<]*)</textarea>', form)
    return values | {name: html.unescape(text) for name, text in texts}


def make(root, slug="toxicity", **form):
    return root.post("/competitions/new", {"title": "Toxicity", "slug": slug, **form})


def save(root, **changed):
    return root.post(SAVE, form_of(root.browser.get(PAGE).text) | changed)


def field_of(page, name):
    """Return the part of the page from a field on."""
    return html.unescape(page[page.index(f'id="{name}"') :][:2500])


def test_only_organizers_see_a_draft_created_in_the_browser(arena, root):
    bob = arena.person("Bob")
    assert make(root).location == PAGE
    assert settings_of(arena) == CompetitionSettings(title="Toxicity")
    for path in ("/competitions/toxicity", "/competitions/toxicity/data", PAGE, f"{HERE}/solution"):
        assert bob.browser.get(path).status_code == 404, path
        assert root.browser.get(path).status_code == 200, path
    assert "Create a competition" not in bob.browser.get("/").text


def test_unchanged_values_are_kept_even_if_they_are_finer_than_their_inputs(arena, root):
    make(root)
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        opens_at = arena.now().replace(hour=10, minute=15, second=30, microsecond=250_000) + 2 * DAY
        dates = ("opens_at", "entry_deadline", "merger_deadline", "closes_at", "reveals_at")
        for days, name in enumerate(dates):
            setattr(competition, name, opens_at + days * DAY)
        competition.draft_metric |= {"identities": ["black ", "muslim "]}
    before = settings_of(arena)
    assert save(root).status_code == 303
    assert settings_of(arena) == before
    assert save(root, title="Toxic", closes_at=f"{before.closes_at + DAY:%Y-%m-%dT%H:%M}").status_code == 303
    minute = (before.closes_at + DAY).replace(second=0, microsecond=0)
    assert settings_of(arena) == before.changed(title="Toxic", closes_at=minute)


def test_two_editors_do_not_silently_overwrite_each_other(arena, root):
    make(root)
    opened = form_of(root.browser.get(PAGE).text)
    assert root.post(SAVE, opened | {"max_daily_submissions": "7"}).status_code == 303
    late = root.post(SAVE, opened | {"max_daily_submissions": "9"})
    assert late.status_code == 412
    assert "have changed in the meantime" in late.text and ">Reload</a>" in late.text
    assert settings_of(arena).max_daily_submissions == 7
    kept = form_of(late.text)  # Nothing that was entered is lost.
    assert kept["max_daily_submissions"] == "9"
    assert root.post(SAVE, kept).status_code == 303
    assert settings_of(arena).max_daily_submissions == 9


def test_dates_of_the_form_are_utc(arena, root):
    make(root)
    save(root, opens_at="2030-01-01T00:00", closes_at="2030-03-01T23:59")
    found = settings_of(arena)
    assert found.opens_at.isoformat() == "2030-01-01T00:00:00+00:00"
    assert found.closes_at.isoformat() == "2030-03-01T23:59:00+00:00"
    with arena.database.read() as session:
        deadline = lookup.get(session, slug="toxicity").entry_deadline
    assert deadline.isoformat() == "2030-02-22T23:59:00+00:00"


def test_an_empty_field_never_hides_a_default_date(arena, root):
    make(root)
    shown = form_of(root.browser.get(PAGE).text)
    proposed = datetime.fromisoformat(shown["closes_at"])
    assert proposed.replace(tzinfo=UTC) > arena.now() + 55 * DAY
    for name, days in {"entry_deadline": -7, "merger_deadline": -7, "reveals_at": 7}.items():
        assert datetime.fromisoformat(shown[name]) == proposed + days * DAY, name
    save(root, section="text")
    assert settings_of(arena).closes_at is None  # Nobody has saved the dates yet.
    save(root, section="dates")
    assert settings_of(arena).closes_at == proposed.replace(tzinfo=UTC)
    assert settings_of(arena).reveals_at is None  # It still follows the close.
    later = proposed + 10 * DAY
    save(root, closes_at=f"{later:%Y-%m-%dT%H:%M}")
    assert form_of(root.browser.get(PAGE).text)["reveals_at"] == f"{later + 7 * DAY:%Y-%m-%dT%H:%M}"
    save(root, closes_at="")
    assert settings_of(arena).closes_at is None
    assert form_of(root.browser.get(PAGE).text)["closes_at"] == ""


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("date", "revealed automatically on 8 Mar 2030, 23:59 UTC"),
        ("organizer", "revealed only by an organizer"),
    ],
)
def test_the_confirmation_of_the_publication_states_all_dates(arena, root, rule, sentence):
    arena.competition()
    make(root, slug="next", source="toxicity", with_solution="yes")
    here = "/competitions/next/organize"
    sent = {"closes_at": "2030-03-01T23:59", "opens_at": "2030-01-01T00:00", "reveal_rule": rule}
    page = root.browser.get(f"{here}/settings").text
    assert root.post(f"{here}/settings/save", form_of(page) | sent).status_code == 303
    asked = main_text(root.post(f"{here}/state/publish"))
    assert "It opens on 1 Jan 2030, 00:00 UTC and closes on 1 Mar 2030, 23:59 UTC." in asked
    assert "Entry ends on 22 Feb 2030, 23:59 UTC. Mergers end on 22 Feb 2030, 23:59 UTC." in asked
    assert sentence in asked


def test_a_section_is_done_only_when_it_was_saved(arena, root):
    make(root)

    def marks() -> dict[str, str]:
        found = re.findall(r'<li class="(\w+)"><a href="[^"]*#(\w+)"', root.browser.get(PAGE).text)
        return {key: mark for mark, key in found}

    assert marks() == {"text": "missing", "data": "missing", "dates": "open"}
    save(root, contact="ask@example.org")
    assert marks() == {"text": "advice", "data": "missing", "dates": "open"}
    save(root, section="dates")
    assert marks() == {"text": "advice", "data": "missing", "dates": "done"}
    save(root, overview="Hello.", rules="Be fair.")
    assert marks() == {"text": "done", "data": "missing", "dates": "done"}


def test_all_problems_are_reported_together_at_their_fields_and_the_entered_values_are_kept(root):
    make(root)
    wrong = {
        "closes_at": "soon",
        "reveals_at": "2099-12-31T23:59",
        "max_daily_submissions": "many",
        "selection_count": "",
        "max_pending_submissions": "0",
        "power": "much",
        "identities": "male\nmale",
        "title": "",
    }
    answer = save(root, **wrong)
    assert answer.status_code == 409
    for name, words in {
        "closes_at": "Closes must be a valid datetime",
        "max_daily_submissions": "Submissions per UTC day must be a valid integer",
        "selection_count": "Selected submissions must be a valid integer",
        "max_pending_submissions": "Pending submissions at once must be greater than or equal to 1.",
        "power": "Metric (power) must be a valid number",
        "identities": "The identity 'male' is listed more than once.",
        "title": "A competition needs a title.",
    }.items():
        assert words in field_of(answer.text, name), name
    assert (
        answer.text.count('aria-invalid="true"') == len(wrong) - 1
    )  # The reveal is not compared with the unread close.
    kept = form_of(answer.text)
    assert {name: kept[name] for name in wrong} == wrong


def test_the_formula_is_changed_in_parts_whose_weights_must_sum_to_one(arena, root):
    make(root)
    answer = save(root, overall_auc="0.5")
    assert "must sum to 1, but they sum to 1.25" in field_of(answer.text, "overall_auc")
    folded = re.findall(r"<details( open)?><summary>([^<]+)</summary>", answer.text)
    assert [heading for is_open, heading in folded if is_open] == ["Weights (must sum to 1)"]
    weights = {"overall_auc": "0.1", "subgroup_auc": "0.3", "bpsn_auc": "0.3", "bnsp_auc": "0.3"}
    assert save(root, **weights, power="-inf", identities="male\nfemale\n").status_code == 303
    found = settings_of(arena)
    assert (found.metric.formula.weights.overall_auc, found.identities) == (0.1, ("male", "female"))
    assert form_of(root.browser.get(PAGE).text)["power"] == "-inf"


def test_another_metric_and_its_options_are_chosen_in_one_step(arena, root):
    make(root)
    assert save(root, name="map_at_k", cutoff="3", power="-1").status_code == 303
    metric = settings_of(arena).metric
    assert (metric.name, metric.cutoff) == ("map_at_k", 3)
    page = root.browser.get(PAGE).text
    shown = form_of(page)
    assert shown["cutoff"] == "3" and {"classes", "weight"} <= shown.keys()
    assert not {"power", "identities", "columns", "positive", "reported"} & shown.keys()
    assert "cutoff" in field_of(save(root, cutoff="0").text, "cutoff")
    assert save(root, name="bias").status_code == 303
    assert settings_of(arena).metric == CompetitionSettings().metric


def test_fixed_settings_are_shown_with_the_reason_and_cannot_be_changed(arena, root):
    arena.competition(closes_at=arena.now() + 30 * DAY)
    page = root.browser.get(PAGE).text
    assert "only a rescoring can change this." in page and 'name="power"' not in page
    before = settings_of(arena)
    root.post(SAVE, form_of(page) | {"power": "-2", "feedback": "score"})
    assert settings_of(arena) == before


def test_a_competition_can_start_as_a_copy(arena, root):
    arena.competition(closes_at=arena.now() + 30 * DAY, rules="Be fair.")
    assert make(root, slug="next", title="Next", source="toxicity", with_solution="yes").status_code == 303
    found = settings_of(arena, "next")
    assert (found.title, found.rules, found.closes_at) == ("Next", "Be fair.", None)
    assert "Nothing is missing" in root.browser.get("/competitions/next/organize/settings").text


def test_an_incomplete_draft_is_not_published_and_lists_what_is_missing(arena, root):
    make(root)
    answer = root.confirm(f"{HERE}/state/publish")
    assert answer.status_code == 409
    alert = answer.text[answer.text.index("cannot be published yet") :]
    assert "No solution has been accepted" in alert and f'href="{HERE}/solution"' in alert
    assert arena.app.test_client().get("/competitions/toxicity").status_code == 404


def test_owners_but_not_editors_delete_a_draft(arena, root):
    ann = arena.person("Ann")
    make(root)
    root.post(f"{HERE}/organizers", {"name": "Ann", "role": "editor"})
    assert "Delete the draft" not in ann.browser.get(PAGE).text
    assert ann.confirm(f"{HERE}/state/delete").status_code == 403
    answer = root.post(f"{HERE}/state/delete")
    assert (answer.status_code, "This cannot be undone" in answer.text) == (409, True)
    assert root.confirm(f"{HERE}/state/delete").location == "/"
    assert root.browser.get(PAGE).status_code == 404
    assert "Toxicity" not in root.browser.get("/").text
    assert make(root).status_code == 303


def test_actions_read_the_time_after_they_have_waited_for_the_lock(arena, root, monkeypatch):
    make(root)
    page = form_of(root.browser.get(PAGE).text)
    time, lock = [arena.now()], lookup.lock
    set_clock(monkeypatch, lambda: time[0])

    def wait_and_lock(session, **parts):
        time[0] += timedelta(seconds=1)
        return lock(session, **parts)

    monkeypatch.setattr(lookup, "lock", wait_and_lock)
    client, api = arena.app.test_client(), f"/api/v1{HERE}"
    for path, sent in (
        (SAVE, {"data": page | {"max_daily_submissions": "7"}}),
        (f"{api}/settings", {"method": "PATCH", "json": {"max_daily_submissions": 8}}),
        (f"{api}/data", {"method": "POST", "data": {"file": (io.BytesIO(b"id,text\n1,a\n"), "a.csv")}}),
    ):
        before = time[0]
        if path.startswith("/api"):
            answer = open_confirmed(client, path, **sent, headers=root.bearer)
        else:
            answer = root.post(path, **sent)
        assert answer.status_code < 400, (path, answer.text)
        with arena.database.read() as session:
            newest = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one()
        assert newest.at > before, path
