"""File upload in a real browser, and display of the score without a reload."""

import re
import threading
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from tests.fixtures.patience import HANG_SECONDS
from webapp.submissions import uploads

pytestmark = pytest.mark.browser
SUBMIT = "/competitions/toxicity/submissions"


@pytest.fixture
def predictions(live, tmp_path):
    path = tmp_path / "predictions.csv"
    path.write_bytes(live.truth.predictions(noise=1.4))
    return path


def test_a_new_user_signs_up_uploads_a_file_once_and_sees_its_score_appear(
    live, page, predictions, monkeypatch
):
    live.competition(title="Unintended bias")
    page.goto(live.address)
    page.get_by_role("link", name="Unintended bias").click()
    page.get_by_role("link", name="Submissions", exact=True).click()
    page.get_by_role("link", name="Create an account").click()
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign up").click()

    page.goto(live.address + SUBMIT)
    received, original = list[uploads.Upload](), uploads.arrived

    def arrived() -> uploads.Upload:
        received.append(upload := original())
        return upload

    monkeypatch.setattr(uploads, "arrived", arrived)
    page.get_by_label("Drop a file here").set_input_files(predictions)
    expect(page.get_by_text("predictions.csv, ")).to_be_visible()
    expect(page.get_by_text("valid predictions for all 400 ids")).to_be_visible()
    page.get_by_label("Description").fill("first try")
    page.get_by_role("button", name="Submit", exact=True).click()

    expect(page.get_by_text("Waiting to be scored")).to_be_visible()
    assert len(received) == 1, "The file must be uploaded only once."
    page.evaluate("window.isSamePage = true")
    expect(page.get_by_text("the team's first score")).to_be_visible()
    expect(page.get_by_text("1st", exact=True)).to_be_visible()
    assert page.evaluate("window.isSamePage"), "The score must appear without reloading the page."
    expect(page.get_by_role("rowheader", name="black or african", exact=True)).to_be_visible()

    page.get_by_role("link", name="Leaderboard").click()
    expect(page.get_by_role("row", name="Ann you")).to_have_class(re.compile(r"\bown\b"))


def test_submit_during_the_check_waits_for_its_end(live, page, predictions, monkeypatch):
    live.competition()
    _logged_in(live, page)
    is_pressed, check = threading.Event(), uploads.check
    monkeypatch.setattr(uploads, "check", lambda *sent: is_pressed.wait(HANG_SECONDS) and check(*sent))
    page.goto(live.address + SUBMIT)
    page.get_by_label("Drop a file here").set_input_files(predictions)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("It will be submitted after its check")).to_be_visible()
    is_pressed.set()
    expect(page.get_by_role("heading", name="Submission 1")).to_be_visible()


def test_the_list_of_submissions_updates_itself(live, page, predictions):
    live.competition()
    ann = _logged_in(live, page)
    held, send = list[int](), live.hints.send
    live.hints.send = held.extend
    live.submit(ann, predictions.read_bytes())
    page.goto(live.address + "/competitions/toxicity/submissions")
    status = page.locator("td .pill")
    expect(status).to_have_text("pending")
    send(held)  # only now, because the file could be scored before the page is loaded
    expect(status).to_have_text("scored")
    expect(page.get_by_text("chosen automatically (best public score)")).to_be_visible()


def test_a_dropped_file_that_is_rejected_shows_all_its_problems(live, page):
    live.competition()
    _logged_in(live, page)
    page.goto(live.address + SUBMIT)
    transfer = page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["id,prediction\\n7000000,nan\\nx,0.5\\n"], "broken.csv"));
          return transfer;
        }"""
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    expect(page.get_by_text("broken.csv, ")).to_be_visible()
    expect(page.get_by_text("3 problems. No submission was used.")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="NaN")).to_be_visible()
    expect(page.get_by_role("button", name="Submit", exact=True)).to_be_disabled()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy all problems").click()
    assert "NaN" in page.evaluate("navigator.clipboard.readText()")
    assert page.url.endswith(SUBMIT)
    page.goto(live.address + "/competitions/toxicity/submissions")
    expect(page.get_by_text("Nothing here yet.")).to_be_visible()


def test_everything_works_without_javascript(live, browser, predictions, tmp_path):
    live.competition()
    broken = tmp_path / "broken.csv"
    broken.write_text("id,prediction\n7000000,nan\nx,0.5\n")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    _logged_in(live, page)
    page.goto(live.address + SUBMIT)
    page.get_by_label("Drop a file here").set_input_files(predictions)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("Waiting to be scored")).to_be_visible()
    expect(page.get_by_text("Weakest term:")).to_be_visible()

    page.goto(live.address + SUBMIT)
    page.get_by_label("Drop a file here").set_input_files(broken)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("Rejected: your file has 3 problems. No submission was used.")).to_be_visible()

    page.goto(live.address + SUBMIT)
    page.get_by_label("Drop a file here").set_input_files(predictions)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("identical to submission #1")).to_be_visible()
    page.get_by_role("button", name="Submit anyway").click()
    expect(page.get_by_role("heading", name="Submission 3")).to_be_visible()
    page.get_by_role("button", name="Select #").click()
    expect(page.get_by_text("#3 is selected.")).to_be_visible()
    context.close()


def test_times_are_shown_in_utc_and_in_the_users_time_zone(live, browser):
    live.competition(max_daily_submissions=5, closes_at=live.now() + timedelta(days=1))
    context = browser.new_context(timezone_id="Asia/Kolkata")
    page = context.new_page()
    _logged_in(live, page)
    page.goto(live.address + SUBMIT)
    expect(page.get_by_text("resets at 05:30 GMT+5:30")).to_be_visible()
    reset = page.get_by_text("05:30 GMT")
    assert (
        reset.get_attribute("title").endswith("00:00 UTC") and reset.evaluate("each => each.tabIndex") == -1
    )
    clock = page.locator("time[data-clock]")
    shown = clock.text_content()
    assert shown.endswith("GMT+5:30")
    expect(clock).not_to_have_text(shown)
    context.close()


def _logged_in(live, page, name="Ann"):
    person = live.person(name)
    token = person.browser.get_cookie("fairboard_login").value
    page.context.add_cookies([{"name": "fairboard_login", "value": token, "url": live.address}])
    return person
