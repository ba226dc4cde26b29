"""Competition setup in the browser: drafts, steps, data files."""

import html
import io
import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Competition, CompetitionState
from grader.services.competitions import lookup, settings
from grader.services.competitions.settings_model import METRIC_PARTS, NAMED_PARTS, NAMES, CompetitionSettings
from tests.fixtures.databases import set_clock
from tests.fixtures.desk import open_confirmed
from webapp.competitions.wizard_steps import STEPS

HERE = "/competitions/toxicity/organize"
DAY = timedelta(days=1)


@pytest.fixture
def root(arena):
    """An administrator of the site."""
    return arena.person("Root", is_admin=True)


def settings_of(arena, slug: str):
    with arena.database.read() as session:
        return settings.of(lookup.get(session, slug=slug))


def form_of(page: str) -> dict[str, str]:
    """Return the values that a browser would send for a page's unchanged settings form."""
    form = page[page.index('class="setup') :].partition("</form>")[0]
    values = {}
    for tag in re.findall(r"<input [^>]*>", form):
        parts = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if "name" not in parts or (parts["type"] in {"radio", "checkbox"} and " checked" not in tag):
            continue
        values[parts["name"]] = parts.get("value", "")
    values |= dict(re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>\n?([^<]*)</textarea>', form))
    return values


def make(root, slug: str = "toxicity", **form: str):
    return root.post("/competitions/new", {"title": "Toxicity", "slug": slug, **form})


def test_only_organizers_see_a_draft_created_in_the_browser(arena, root):
    bob = arena.person("Bob")
    answer = make(root)
    assert answer.status_code == 303
    assert answer.location == f"{HERE}/settings"
    for step in STEPS:
        assert root.browser.get(f"{HERE}/settings/{step.key}").status_code == 200, step.key
    for path in ("/competitions/toxicity", f"{HERE}/settings", "/competitions/toxicity/data"):
        assert bob.browser.get(path).status_code == 404, path
    for path in (
        "/competitions/toxicity",
        "/competitions/toxicity/evaluation",
        "/competitions/toxicity/data",
    ):
        assert root.browser.get(path).status_code == 200, path


def test_a_draft_has_the_default_settings(arena, root):
    make(root)
    assert settings_of(arena, "toxicity") == CompetitionSettings(title="Toxicity")


def test_the_entry_step_of_a_draft_leads_to_the_roster_of_a_class(arena, root):
    make(root)
    roster = f"{HERE}/roster"
    assert f'href="{roster}"' in root.browser.get(f"{HERE}/settings/entry").text
    answer = root.post(f"{roster}/students", {"students": "kim\nlee"})
    assert (answer.status_code, "2 invitations." in answer.text) == (201, True)


def test_users_without_the_right_see_no_link_to_create_competitions(arena):
    assert "Create a competition" not in arena.person("Bob").browser.get("/").text


def test_the_default_slug_is_a_free_one_derived_from_the_title(arena, root):
    for title, slug in (
        ("Toxicity: Café & Größe, 2026", "toxicity-cafe-groe-2026"),
        ("Toxicity café groe (2026)!", "toxicity-cafe-groe-2026-2"),
        ("Data", "data-2"),  # This slug is reserved.
        ("Long " * 20, "long-long-long-long-long-long-long-l"),
    ):
        answer = make(root, slug="", title=title)
        assert (answer.status_code, answer.location) == (303, f"/competitions/{slug}/organize/settings")
    answer = make(root, slug="", title="東京")
    assert answer.status_code == 422
    assert "Enter an address" in answer.text
    assert 'value="東京"' in answer.text


def test_every_step_of_a_draft_shows_the_publish_button(root):
    make(root)
    for step in (*(f"settings/{step.key}" for step in STEPS), "solution", "data", "state"):
        page = root.browser.get(f"{HERE}/{step}").text
        steps = page[page.index('aria-label="Steps"') :].partition("</nav>")[0]
        assert re.search(rf'class="button small secondary" href="{HERE}/state"[^>]*>Publish</a>', steps)
        assert steps.count("<li") == 8
    assert re.search(r'<button class="slim" aria-describedby="readiness" disabled>Publish', page)
    assert root.post(f"{HERE}/state/publish", {}).status_code == 409


def test_a_rejected_draft_keeps_the_entered_values(root):
    answer = make(root, slug="New!", title="My <title>")
    assert answer.status_code == 422
    assert "lowercase letters" in answer.text
    assert 'value="New!"' in answer.text
    assert 'value="My &lt;title&gt;"' in answer.text


def test_every_setting_belongs_to_one_step():
    shown = [name for step in STEPS for name in step.names]
    assert sorted(shown) == sorted([*(set(NAMES) - {"metric"}), *METRIC_PARTS, *NAMED_PARTS])


@pytest.mark.parametrize("step", [step.key for step in STEPS])
def test_an_unchanged_form_changes_nothing(arena, root, step: str):
    make(root)
    before = settings_of(arena, "toxicity")
    page = root.browser.get(f"{HERE}/settings/{step}").text
    answer = root.post(f"{HERE}/settings/{step}", form_of(page))
    assert answer.status_code == 303, answer.text
    assert settings_of(arena, "toxicity") == before


def test_values_finer_than_their_inputs_are_kept_unless_they_are_changed(arena, root):
    make(root)
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        opens_at = arena.now().replace(hour=10, minute=15, second=30, microsecond=250_000) + 2 * DAY
        dates = ("opens_at", "entry_deadline", "merger_deadline", "closes_at", "reveals_at")
        for days, name in enumerate(dates):
            setattr(competition, name, opens_at + days * DAY)
        competition.draft_metric |= {"identities": ["black ", "muslim "]}
    before = settings_of(arena, "toxicity")
    for step in STEPS:
        sent = form_of(root.browser.get(f"{HERE}/settings/{step.key}").text)
        sent |= {"max_daily_submissions": "7"} if step.key == "dates" else {"title": "Toxic"}
        answer = root.post(f"{HERE}/settings/{step.key}", sent)
        assert answer.status_code == 303, re.findall("fault.*", answer.text)
    after = settings_of(arena, "toxicity")
    assert (after.max_daily_submissions, after.title) == (7, "Toxic")
    assert after.changed(max_daily_submissions=before.max_daily_submissions, title=before.title) == before
    sent = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    day, minute = f"{before.closes_at + DAY:%Y-%m-%d}", {"merger_deadline_time": "10:14"}
    assert root.post(f"{HERE}/settings/dates", sent | {"closes_at_date": day} | minute).status_code == 303
    moved = settings_of(arena, "toxicity")
    assert moved.closes_at == before.closes_at + DAY
    assert moved.merger_deadline == before.merger_deadline.replace(minute=14, second=0, microsecond=0)


def test_actions_read_the_time_after_they_have_waited_for_the_lock(arena, root, monkeypatch):
    make(root)
    arena.person("Bob")
    page = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    time, lock = [arena.now()], lookup.lock
    set_clock(monkeypatch, lambda: time[0])

    def wait_and_lock(session, **parts):
        time[0] += timedelta(seconds=1)
        return lock(session, **parts)

    monkeypatch.setattr(lookup, "lock", wait_and_lock)
    client, api = arena.app.test_client(), f"/api/v1{HERE}"
    csv = {"file": (io.BytesIO(b"id,text\n1,a\n"), "train.csv")}
    for path, sent in (
        (f"{HERE}/settings/dates", {"data": page | {"max_daily_submissions": "7"}}),
        (f"{HERE}/organizers", {"data": {"name": "Bob", "role": "editor"}}),
        (f"{HERE}/roster/students", {"data": {"students": "Cleo"}}),
        (f"{api}/settings", {"method": "PATCH", "json": {"max_daily_submissions": 8}}),
        (f"{api}/data", {"data": csv}),
        (f"{api}/data/train.csv", {"method": "DELETE"}),
        (f"{api}/students", {"json": {"students": ["Dora"]}}),
    ):
        before, sender = time[0], {"headers": root.bearer} if path.startswith("/api") else {}
        if sender:
            answer = open_confirmed(client, path, **{"method": "POST"} | sent | sender)
        else:
            answer = root.post(path, **sent)
        assert answer.status_code < 400, (path, answer.text)
        with arena.database.read() as session:
            newest = session.scalars(select(AuditEntry).order_by(AuditEntry.id.desc()).limit(1)).one()
        assert newest.at > before, path


def test_two_editors_do_not_silently_overwrite_each_other(arena, root):
    make(root)
    path = f"{HERE}/settings/dates"
    opened = form_of(root.browser.get(path).text)
    assert root.post(path, opened | {"max_daily_submissions": "7"}).status_code == 303
    late = root.post(path, opened | {"max_daily_submissions": "9"})
    assert late.status_code == 412
    notice = late.text.partition("have changed since you opened")[2].partition("</dl>")[0]
    assert "<dd>7</dd>" in " ".join(notice.split()).replace("<dd> ", "<dd>")
    assert notice.count("<dt>") == 1
    kept = form_of(late.text)
    assert kept["max_daily_submissions"] == "9"
    assert settings_of(arena, "toxicity").max_daily_submissions == 7
    assert root.post(path, kept).status_code == 303
    assert settings_of(arena, "toxicity").max_daily_submissions == 9
    other = form_of(root.browser.get(f"{HERE}/settings/entry").text)
    root.post(path, form_of(root.browser.get(path).text) | {"max_daily_submissions": "8"})
    assert root.post(f"{HERE}/settings/entry", other | {"max_team_size": "2"}).status_code == 303


def test_saving_continues_to_the_next_step(root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/basics").text)
    answer = root.post(f"{HERE}/settings/basics", {**form, "overview": "# Hello", "next": "yes"})
    assert answer.location == f"{HERE}/settings/scored"
    assert "<h2>Hello</h2>" in root.browser.get("/competitions/toxicity").text
    form = form_of(root.browser.get(f"{HERE}/settings/metric").text)
    assert root.post(f"{HERE}/settings/metric", {**form, "next": "yes"}).location == f"{HERE}/data"


def test_dates_are_utc_and_a_deadline_ends_at_2359(arena, root):
    make(root)
    page = root.browser.get(f"{HERE}/settings/dates").text
    assert form_of(page)["closes_at_time"] == "23:59"
    form = form_of(page) | {"opens_at_date": "2030-01-01", "closes_at_date": "2030-03-01"}
    assert root.post(f"{HERE}/settings/dates", form).status_code == 303
    found = settings_of(arena, "toxicity")
    assert found.opens_at.isoformat() == "2030-01-01T00:00:00+00:00"
    assert found.closes_at.isoformat() == "2030-03-01T23:59:00+00:00"
    with arena.database.read() as session:
        stored = lookup.get(session, slug="toxicity")
        assert stored.entry_deadline.isoformat() == "2030-02-22T23:59:00+00:00"


def test_all_errors_are_reported_together_and_the_entered_values_are_kept(arena, root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    wrong = {"closes_at_date": "soon", "max_daily_submissions": "many", "selection_count": ""}
    answer = root.post(f"{HERE}/settings/dates", form | wrong)
    assert answer.status_code == 409
    for words in (
        "Closes: enter a date",
        ("Submissions per UTC day: enter a whole"),
        "Selected submissions: enter",
    ):
        assert answer.text.count(words) == 1, words
    assert "Correct these fields: Closes; Submissions per UTC day; Selected submissions." in answer.text
    assert 'value="soon"' in answer.text
    assert 'value="many"' in answer.text
    answer = root.post(
        f"{HERE}/settings/dates", form | {"selection_count": "0", "max_pending_submissions": "0"}
    )
    assert answer.text.count("The number of selected submissions must be at least 1") == 1
    assert answer.text.count("must be at least 1") == 2  # The message is repeated at both fields.
    assert answer.text.count('aria-invalid="true"') == 2


def test_unreadable_and_invalid_values_are_reported_together(root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    wrong = {"selection_count": "two", "opens_at_date": "2030-01-02", "closes_at_date": "2030-01-01"}
    answer = root.post(f"{HERE}/settings/dates", form | wrong)
    assert answer.status_code == 409
    assert "Selected submissions: enter a whole" in answer.text
    assert answer.text.count("closing time must be after the opening time") == 1
    assert answer.text.index("must be after the opening") > answer.text.index('name="closes_at_date"')
    form = form_of(root.browser.get(f"{HERE}/settings/metric").text)
    wrong = {"power": "much", "overall_auc": "0.5", "label_threshold": "inf", "identities": "male\nmale"}
    answer = root.post(f"{HERE}/settings/metric", form | wrong)
    for words in (
        "enter a number, not",
        "must sum to 1",
        "label_threshold must be finite",
        "is listed more than once",
    ):
        assert words in answer.text


def test_past_and_misordered_dates_are_reported_together_at_their_fields(root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    wrong = {
        "opens_at_date": "2020-01-01",
        "closes_at_date": "2100-01-01",
        "entry_deadline_date": "2100-01-02",
        "merger_deadline_date": "2100-01-03",
        "reveals_at_date": "2099-12-31",
    }
    page = root.post(f"{HERE}/settings/dates", form | wrong).text
    for name, words in {
        "opens_at": "The opening is in the past (2020-01-01 00:00 UTC): the competition opens as soon as",
        "entry_deadline": "The entry deadline cannot be after the closing time",
        "merger_deadline": "The merger deadline cannot be after the closing time",
        "reveals_at": "cannot be revealed before the close",
    }.items():
        field = page[page.index(f'id="{name}"') :]
        assert words in field[: field.index("</fieldset>")], name
        assert f'value="{wrong[f"{name}_date"]}"' in field


def test_a_draft_with_a_future_close_shows_that_it_closes(root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    root.post(f"{HERE}/settings/dates", form | {"closes_at_date": "2100-01-01"})
    page = root.browser.get(f"{HERE}/settings").text
    assert "<span>closes " in page
    assert "<span>closed " not in page


def test_the_weights_of_the_metric_must_sum_to_one(arena, root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/metric").text)
    answer = root.post(f"{HERE}/settings/metric", form | {"overall_auc": "0.5"})
    assert answer.status_code == 409
    assert "must sum to 1, but they sum to 1.25" in answer.text
    changed = {
        "overall_auc": "0.1",
        "subgroup_auc": "0.3",
        "bpsn_auc": "0.3",
        "bnsp_auc": "0.3",
        "power": "-inf",
    }
    answer = root.post(f"{HERE}/settings/metric", form | changed | {"identities": "male\nfemale\n"})
    assert answer.status_code == 303
    found = settings_of(arena, "toxicity")
    assert found.metric.weights.overall_auc == 0.1
    assert found.identities == ("male", "female")
    assert "-inf" in root.browser.get(f"{HERE}/settings/metric").text


def test_several_names_on_one_line_are_reported_at_their_field(arena, root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/metric").text)
    sent = form | {"identities": "male, female, gay", "next": "yes"}
    answer = root.post(f"{HERE}/settings/metric", sent)
    # The form stays open, so that the user sees the warning.
    assert answer.headers["Location"].endswith("/settings/metric")
    page = html.unescape(root.browser.get(f"{HERE}/settings/metric").text)
    assert "'male, female, gay' is read as the name of one column. If these are 3 columns, list them" in page
    sent = form_of(root.browser.get(f"{HERE}/settings/metric").text) | {"next": "yes"}
    sent["identities"] = "male\nfemale"
    answer = root.post(f"{HERE}/settings/metric", sent)
    assert not answer.headers["Location"].endswith("/settings/metric")
    assert "is read as the name" not in root.browser.get(f"{HERE}/settings/metric").text


def test_fixed_settings_are_shown_with_the_reason_and_cannot_be_changed(arena, root):
    arena.competition(closes_at=arena.now() + 30 * DAY)
    page = root.browser.get(f"{HERE}/settings/metric").text
    assert "only a rescoring can change this." in page
    assert 'name="power"' not in page
    before = settings_of(arena, "toxicity")
    root.post(f"{HERE}/settings/metric", {"power": "-2", "feedback": "score"})
    assert settings_of(arena, "toxicity") == before


def test_a_competition_can_start_as_a_copy(arena, root):
    arena.competition(closes_at=arena.now() + 30 * DAY, rules="Be fair.")
    answer = make(root, slug="next", title="Next", source="toxicity", with_solution="yes")
    assert answer.status_code == 303
    with arena.database.read() as session:
        found = session.scalar(select(Competition).where(Competition.slug == "next"))
        assert (found.state, found.rules) == (CompetitionState.DRAFT, "Be fair.")
        assert found.live_scoring_version is not None


def test_a_solution_uploaded_as_data_is_held_back_until_the_box_is_ticked(arena, root):
    ann = arena.person("Ann")
    arena.competition()
    address = "/competitions/toxicity/data/files/extra.csv"
    solution = arena.truth.solution().replace(b"toxicity", b"x1")
    root.post(f"{HERE}/data", {"file": (io.BytesIO(solution), "extra.csv")})
    page = root.browser.get(f"{HERE}/data")
    assert "waiting for its check" in page.text and "data-live=" in page.text
    etag = re.search(r'data-etag="([^"]+)"', page.text)[1]
    status = root.browser.get(f"{HERE}/data/status", headers={"If-None-Match": html.unescape(etag)})
    assert status.status_code == 304
    arena.work()
    assert root.browser.get(f"{HERE}/data/status").json["files"] == {"extra.csv": "held"}
    page = html.unescape(root.browser.get(f"{HERE}/data").text)
    assert "held back" in page and "Column 'x1' agrees with the label" in page
    assert ann.browser.get(address).status_code == 503
    assert root.browser.get(address).data == solution  # Organizers can always download it.
    refused = root.post(f"{HERE}/data/extra.csv/allow", {"reason": "Why so"})
    assert refused.status_code == 409 and 'value="Why so"' in refused.text  # The reason is kept.
    assert root.post(f"{HERE}/data/extra.csv/check").status_code == 303
    arena.work()
    assert ann.browser.get(address).status_code == 503
    token = re.search(r'type="checkbox" name="confirm" value="(\w+)"', root.browser.get(f"{HERE}/data").text)[
        1
    ]
    assert root.post(f"{HERE}/data/extra.csv/allow", {"confirm": token}).status_code == 303
    assert ann.browser.get(address).data == solution
    audit = root.browser.get(f"{HERE}/audit").text
    assert "released the data file extra.csv even though it was held back" in audit


def test_participants_can_download_data_files_from_the_opening(arena, root):
    ann, stranger = arena.person("Ann"), arena.app.test_client()
    arena.competition(opens_at=arena.now() + DAY)
    file = {"file": (io.BytesIO(b"id,comment_text\n1,hi\n"), "train.csv"), "description": "To learn from"}
    assert root.post(f"{HERE}/data", file).status_code == 303
    address = "/competitions/toxicity/data/files/train.csv"
    assert root.browser.get(address).data == b"id,comment_text\n1,hi\n"
    assert ann.browser.get(address).status_code == 403
    assert "once the competition opens" in ann.browser.get("/competitions/toxicity/data").text
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").opens_at = arena.now() - DAY
    answer = ann.browser.get(address)
    assert answer.status_code == 503
    assert "train.csv is being checked" in answer.text
    page = ann.browser.get("/competitions/toxicity/data").text
    assert "being checked" in page and f'href="{address}"' not in page
    arena.work()
    answer = ann.browser.get(address)
    assert answer.data == b"id,comment_text\n1,hi\n"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert stranger.get(address).status_code == 302
    page = ann.browser.get("/competitions/toxicity/data").text
    assert "To learn from" in page
    assert "/data/files/train.csv" in page


def test_data_files_require_acceptance_of_the_rules(arena, root):
    ann = arena.person("Ann")
    arena.competition(rules="Be fair.")
    root.post(f"{HERE}/data", {"file": (io.BytesIO(b"x"), "train.csv")})
    address = "/competitions/toxicity/data/files/train.csv"
    assert ann.browser.get(address).status_code == 403
    ann.post("/competitions/toxicity/join", {"accepted_rules_version": "1"})
    arena.work()
    assert ann.browser.get(address).status_code == 200


@pytest.mark.parametrize("name", ["sample_submission.csv", "..", "<b>.csv"])
def test_a_file_name_that_cannot_be_in_a_url_is_rejected(arena, root, name: str):
    arena.competition()
    answer = root.post(f"{HERE}/data", {"file": (io.BytesIO(b"x"), name)})
    assert answer.status_code == 409
    assert "name" in answer.text


def test_a_json_upload_returns_the_next_location(arena, root):
    arena.competition()
    headers = {"Accept": "application/json"}
    sent = {"file": (io.BytesIO(b"x"), "train.csv")}
    answer = root.post(f"{HERE}/data", sent, headers=headers)
    assert (answer.status_code, answer.json["location"]) == (201, f"{HERE}/data")
    refused = root.post(f"{HERE}/data", {"file": (io.BytesIO(b"x"), "..")}, headers=headers)
    assert refused.status_code == 409 and "file name" in refused.json["message"]


def test_a_data_file_is_replaced_and_removed(arena, root):
    arena.competition()
    for content in (b"old", b"new"):
        root.post(f"{HERE}/data", {"file": (io.BytesIO(content), "test.csv"), "description": "Test"})
    assert root.browser.get("/competitions/toxicity/data/files/test.csv").data == b"new"
    assert root.confirm(f"{HERE}/data/test.csv/remove").status_code == 303
    assert root.browser.get("/competitions/toxicity/data/files/test.csv").status_code == 404
    assert root.confirm(f"{HERE}/data/test.csv/remove").status_code == 404


def test_a_baseline_becomes_a_benchmark_after_its_check(arena, root):
    arena.competition()
    answer = root.post(f"{HERE}/data/baseline", {"file": (io.BytesIO(b"id,prediction\n1,0\n"), "b.csv")})
    assert answer.status_code == 422
    file = io.BytesIO(arena.truth.predictions(noise=2.0))
    answer = root.post(f"{HERE}/data/baseline", {"file": (file, "b.csv"), "name": "Word counts"})
    assert answer.status_code == 303, answer.text
    arena.score_all()
    assert "Word counts" in arena.app.test_client().get("/competitions/toxicity/leaderboard").text


def test_publishing_makes_the_sample_submission_the_first_benchmark(arena, root):
    arena.competition("first")
    make(root, source="first", with_solution="yes")
    assert "Nothing is missing" in root.browser.get(f"{HERE}/state").text
    assert root.confirm(f"{HERE}/state/publish").status_code == 303
    arena.score_all()
    stranger = arena.app.test_client()
    board = stranger.get("/competitions/toxicity/leaderboard").text
    assert "Sample submission" in board
    assert "0.50000" in board
    assert "was published" in stranger.get("/competitions/toxicity/log").text
    assert root.confirm(f"{HERE}/state/publish").status_code == 409


def test_an_incomplete_draft_is_not_published_and_lists_what_is_missing(arena, root):
    make(root)
    answer = root.confirm(f"{HERE}/state/publish")
    assert answer.status_code == 409
    assert "No solution has been accepted" in answer.text
    assert arena.app.test_client().get("/competitions/toxicity").status_code == 404


def test_a_competition_is_archived_and_restored(arena, root):
    arena.competition()
    assert root.post(f"{HERE}/state/archive", {"reason": "Old"}).status_code == 409
    assert root.confirm(f"{HERE}/state/archive", {"reason": "Old"}).status_code == 303
    assert "archived" in root.browser.get(f"{HERE}/state").text
    assert root.post(f"{HERE}/settings/basics", {"title": "New"}).status_code in {303, 409}
    assert settings_of(arena, "toxicity").title == "Toxicity"
    assert root.post(f"{HERE}/state/unarchive").status_code == 303
    assert "Archive" in root.browser.get(f"{HERE}/state").text


def test_contact_and_discussion_are_links_only_if_they_are_urls(arena, root):
    arena.competition()
    form = form_of(root.browser.get(f"{HERE}/settings/basics").text)
    links = {"contact": "ask@example.org", "discussion_url": "https://forum.example.org/t/1"}
    assert root.post(f"{HERE}/settings/basics", form | links).status_code == 303
    page = arena.app.test_client().get("/competitions/toxicity").text
    assert 'href="mailto:ask@example.org"' in page
    assert 'href="https://forum.example.org/t/1"' in page
    form = form_of(root.browser.get(f"{HERE}/settings/basics").text)
    bad = {"discussion_url": "javascript:alert(1)"}
    assert root.post(f"{HERE}/settings/basics", form | bad).status_code == 409


def test_pages_use_the_organizers_names_of_the_classes(arena, root):
    arena.competition()
    form = form_of(root.browser.get(f"{HERE}/settings/basics").text)
    names = {
        "positive_name": "toxic",
        "negative_name": "not toxic",
        "row_name": "posts",
        "evaluation": "Mind the **gap**.",
    }
    root.post(f"{HERE}/settings/basics", form | names)
    page = arena.app.test_client().get("/competitions/toxicity/evaluation").text
    assert "oxic posts that mention the identity against not toxic posts that do not" in page
    assert "<strong>gap</strong>" in page


def test_no_page_of_a_draft_without_a_solution_fails(arena, root):
    make(root)
    pages = ("", "/evaluation", "/data", "/leaderboard", "/submit", "/submissions", "/team", "/join", "/log")
    files = ("/data/sample_submission.csv", "/leaderboard.csv", "/organize/solution", "/organize/close")
    for path in (*pages, *files):
        assert root.browser.get(f"/competitions/toxicity{path}").status_code < 500, path


def test_owners_but_not_editors_delete_a_draft(arena, root):
    ann = arena.person("Ann")
    make(root)
    root.post(f"{HERE}/organizers", {"name": "Ann", "role": "editor"})
    assert "Delete the draft" not in ann.browser.get(f"{HERE}/state").text
    assert ann.confirm(f"{HERE}/state/delete").status_code == 403
    answer = root.post(f"{HERE}/state/delete")
    assert (answer.status_code, "This cannot be undone" in answer.text) == (409, True)
    assert root.confirm(f"{HERE}/state/delete").location == "/"
    assert root.browser.get(f"{HERE}/state").status_code == 404
    assert "Toxicity" not in root.browser.get("/").text
    assert make(root).status_code == 303


def test_a_draft_with_a_baseline_can_be_deleted(arena, root):
    arena.competition("first")
    make(root, source="first", with_solution="yes")
    file = io.BytesIO(arena.truth.predictions(noise=2.0))
    assert root.post(f"{HERE}/data/baseline", {"file": (file, "b.csv")}).status_code == 303
    page = root.browser.get(f"{HERE}/state").text
    assert "1 test or benchmark submission" in page and "state/delete" in page
    assert root.confirm(f"{HERE}/state/delete").status_code == 303
    assert root.browser.get(f"{HERE}/state").status_code == 404


def test_each_missing_item_links_to_its_step(root):
    make(root)
    form = form_of(root.browser.get(f"{HERE}/settings/dates").text)
    root.post(f"{HERE}/settings/dates", form | {"closes_at_date": "2020-01-01"})
    page = root.browser.get(f"{HERE}/state").text
    alert = page[page.index("cannot be published yet") :]
    assert f'href="{HERE}/solution"' in alert and f'href="{HERE}/settings/dates"' in alert
