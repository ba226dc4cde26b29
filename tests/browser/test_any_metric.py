"""A competition with another metric in a browser, from the draft to the leaderboard."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.looks import LOOKS, looks, seen
from webapp.organizers.setup.wizard_steps import BY_KEY, ORDER, PUBLISHING

pytestmark = pytest.mark.browser
ROWS = 400
HERE = "/competitions/houses"

METRIC = b"""
def score(solution, submission, row_id_column_name):
    return float((solution["price"] - submission["price"]).abs().mean())
"""


def _numbers(rng: np.random.Generator, noise: float) -> tuple[Any, Any]:
    prices = rng.normal(300, 40, ROWS).round(2)
    return prices, (prices + rng.normal(0, noise, ROWS)).round(3)


def _classes(rng: np.random.Generator, noise: float) -> tuple[Any, Any]:
    pets = rng.choice(["cat", "dog", "eel"], ROWS)
    return pets, np.where(rng.random(ROWS) < noise / 40, "eel", pets)


REPORTED = {"rmse": ("mae", "r2"), "macro_f1": ("accuracy", "mcc"), "python": ()}
# The value of the radio button, its title, the columns of the target and the prediction, and their values.
KINDS = {
    "rmse": ("Root mean squared error", "target", "prediction", _numbers),
    "macro_f1": ("Macro F1", "target", "prediction", _classes),
    "python": ("Mean distance", "price", "price", _numbers),
}


@pytest.fixture(
    params=["macro_f1", *(pytest.param(name, marks=pytest.mark.long) for name in ("rmse", "python"))]
)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of a metric."""
    return request.param


@pytest.fixture
def files(tmp_path: Path, kind: str) -> dict[str, Path]:
    """The solution with two cities, two submissions and a data file."""
    _, target, prediction, values = KINDS[kind]
    ids = np.random.default_rng(1).permutation(ROWS * 9)[:ROWS]
    rng = np.random.default_rng(2)
    usage, cities = rng.permutation(["Public", "Private"] * (ROWS // 2)), rng.choice(["Oslo", "Rome"], ROWS)
    true, _ = values(np.random.default_rng(0), 0)
    tables = {"solution": (f"id,{target},city,Usage", zip(ids, true, cities, usage, strict=True))}
    for name, noise in {"first": 20, "second": 10}.items():
        _, predictions = values(np.random.default_rng(0), noise)
        tables[name] = (f"id,{prediction}", zip(ids, predictions, strict=True))
    tables["data"] = ("id,size", zip(ids, rng.integers(20, 200, ROWS), strict=True))
    paths = {}
    for name, (header, rows) in tables.items():
        lines = [header, *(",".join(map(str, row)) for row in rows), ""]
        paths[name] = tmp_path / f"{name}.csv"
        paths[name].write_text("\n".join(lines))
    paths["metric"] = tmp_path / "metric.py"
    paths["metric"].write_bytes(METRIC)
    return paths


def _page_of(browser: Browser, live: Any, person: Any) -> tuple[BrowserContext, Page]:
    context = browser.new_context(base_url=live.address)
    cookie = person.browser.get_cookie("fairboard_login").value
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": live.address}])
    return context, context.new_page()


def test_a_competition_with_another_metric_is_set_up_and_run_in_a_browser(
    live, browser: Browser, kind: str, files: dict[str, Path], screens: Path
):
    olga, ann = live.person("Olga", is_admin=True), live.person("Ann")
    context, page = _page_of(browser, live, olga)
    page.goto("/competitions/new")
    page.get_by_label("Title").fill("Houses")
    page.get_by_role("button", name="Create").click()
    page.goto(f"{HERE}/organize/settings/scored")
    if kind == "python":
        page.locator("#metric-file > summary").click()
        page.locator("#metric-file input[name=file]").set_input_files(files["metric"])
        page.locator("#metric-file input[name=sample]").set_input_files(files["first"])
        page.locator("#metric-file").get_by_label("Title").fill("Mean distance")
        page.get_by_label("Best score").select_option("lowest")
        page.get_by_role("button", name="Upload").click()
        expect(page.locator("input[value=python]")).to_be_checked()
    else:
        page.get_by_label("Search the metrics").fill(KINDS[kind][0])
        expect(page.get_by_text("Accuracy", exact=True)).to_be_hidden()
        page.locator(f"input[value={kind}]").check()
        expect(page.locator(".metric-preview:visible")).to_contain_text("id,prediction")
        page.get_by_text("Options of the metric", exact=True).click()
        page.get_by_role("textbox", name="Reported metrics").fill("\n".join(REPORTED[kind]))
        for look in looks(page):
            assert not list(seen(page, look))
            page.screenshot(path=screens / f"scored-{kind}-{look}.png", full_page=True)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    page.goto(f"{HERE}/organize/solution")
    page.set_input_files("#file", files["solution"])
    page.get_by_role("button", name="Upload and check").click()
    page.wait_for_url("**/solution/*")
    live.work()
    page.get_by_role("button", name="Accept and continue").click()
    expect(page.get_by_role("heading", name="Metric and feedback")).to_be_visible()
    if kind != "python":  # Its solution has the column of cities among the true values.
        expect(page.get_by_role("cell", name="city").first).to_be_visible()
    page.goto(f"{HERE}/organize/data")
    page.set_input_files("input[type=file]", files["data"])
    page.get_by_role("button", name="Upload").first.click()
    expect(page.get_by_role("link", name="data.csv").first).to_be_visible()
    live.work()
    page.goto(f"{HERE}/organize/settings/basics")
    page.get_by_label("Contact").fill("olga@example.org")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{HERE}/organize/state")
    page.get_by_role("button", name="Publish", exact=True).click()
    if page.get_by_role("heading", name="Publish").count():
        page.get_by_role("button", name="Publish").last.click()
    context.close()
    context, page = _page_of(browser, live, ann)
    page.goto(f"{HERE}/evaluation")
    expect(page.locator("main")).to_contain_text(KINDS[kind][0])
    expect(page.get_by_text("reported, does not count")).to_have_count(len(REPORTED[kind]))
    for look in looks(page):
        assert not list(seen(page, look))
        page.screenshot(path=screens / f"evaluation-{kind}-{look}.png", full_page=True)
    if kind == "python":
        page.get_by_text("metric.py", exact=True).click()
        expect(page.get_by_text("def score(solution, submission")).to_be_visible()
    ann.post(f"{HERE}/join")
    for name in ("first", "second"):
        page.goto(f"{HERE}/submit")
        page.set_input_files("input[type=file]", files[name])
        page.get_by_role("button", name="Submit").last.click()
        page.wait_for_url("**/submissions/*")
        live.score_all()
        page.reload()
        expect(page.locator("main")).to_contain_text("Public score" if kind == "python" else "Oslo")
        page.screenshot(path=screens / f"{kind}-{name}.png", full_page=True)
    page.goto(f"{HERE}/leaderboard")
    expect(page.locator("main")).to_contain_text("Ann")
    for name in REPORTED[kind]:
        expect(page.locator(f"a[href*='sort={name}']")).to_be_visible()
    for look in looks(page):
        assert not list(seen(page, look))
        page.screenshot(path=screens / f"{kind}-leaderboard-{look}.png", full_page=True)
    context.close()


def test_each_step_of_a_new_class_competition_fits_on_one_screen(live, browser: Browser, screens: Path):
    olga = live.person("Olga", is_admin=True)
    context, page = _page_of(browser, live, olga)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto("/competitions/new")
    page.get_by_label("Class").check()
    page.get_by_label("Title").fill("Houses")
    heights = {}
    for step in ("new", *ORDER):
        if step in BY_KEY:
            page.goto(f"{HERE}/organize/settings/{step}")
        elif step != "new":
            page.goto(f"{HERE}/organize/{'state' if step == PUBLISHING else step}")
        heights[step] = page.locator("main").evaluate(
            "main => main.getBoundingClientRect().bottom - parseFloat(getComputedStyle(main).paddingBottom)"
        )
        for look in looks(page, LOOKS):
            page.screenshot(path=screens / f"wizard-{step}-{look}.png", full_page=True)
        page.set_viewport_size({"width": 1440, "height": 900})
        if step == "new":
            page.get_by_role("button", name="Create").click()
    assert {step: height for step, height in heights.items() if height > 900} == {}
    context.close()
