"""The choice of a metric in the setup, and its check with the solution."""

import io
import re

import numpy as np
import pytest

from grader.metrics.registry import METRICS
from grader.services.competitions import lookup, settings
from grader.services.competitions.metric import NamedMetric
from tests.fixtures.desk import Desk

HERE = "/competitions/houses/organize"
PAGE = f"{HERE}/settings"


@pytest.fixture
def olga(arena):
    """An administrator with a draft."""
    olga = arena.person("Olga", is_admin=True)
    assert olga.post("/competitions/new", {"title": "Houses", "slug": "houses"}).status_code == 303
    return olga


def choose(olga, **parts):
    version = re.findall(r'name="version" value="(\w+)"', olga.browser.get(PAGE).text)[0]
    return olga.post(f"{PAGE}/save", {"version": version, **parts})


def metric_of(olga):
    with olga.arena.database.read() as session:
        return settings.of(lookup.get(session, slug="houses")).metric


def houses(rows=400, target="price"):
    rng = np.random.default_rng(0)
    usage = rng.permutation(["Public", "Private"] * (rows // 2))
    cells = zip(
        rng.permutation(rows * 9)[:rows],
        rng.normal(300, 40, rows).round(2),
        rng.choice(["Oslo", "Rome"], rows),
        usage,
        strict=True,
    )
    return "\n".join([f"id,{target},city,Usage", *(",".join(map(str, each)) for each in cells), ""]).encode()


def upload(olga, data):
    answer = olga.post(f"{HERE}/solution", {"file": (io.BytesIO(data), "solution.csv")})
    assert answer.status_code == 303, answer.text
    Desk(olga).work()
    return answer.location


def test_the_page_lists_every_metric_with_a_submission(olga):
    page = olga.browser.get(PAGE).text
    assert set(re.findall(r'type="radio" name="name" value="(\w+)"', page)) == {"bias", *METRICS, "python"}
    assert "id,height,weight\n1,0.5,0.5" in page
    assert 'value="bias" checked' in page
    choose(olga, name="rmse")
    assert choose(olga, reported="mae\nr2\nmae\n").status_code == 303
    assert metric_of(olga) == NamedMetric(name="rmse", reported=("mae", "r2"))


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"name": "best"}, "best"),
        ({"name": "mean_rmse"}, "needs the names of its columns"),
        ({"name": "rmse", "columns": ("a", "b")}, "has one column"),
        ({"name": "accuracy", "classes": ("x", "x")}, "at least two classes"),
        ({"name": "r2", "weight": 0.5}, "can be negative"),
    ],
)
def test_invalid_options_are_problems(sent, message):
    [problem] = NamedMetric(**sent).problems()
    assert message in problem


def test_invalid_options_are_rejected_and_kept_in_the_form(olga):
    answer = choose(olga, name="r2", weight="0.5")
    assert answer.status_code == 409
    assert "can be negative" in answer.text and 'value="0.5"' in answer.text


def test_another_metric_keeps_only_the_options_that_it_takes(olga):
    assert choose(olga, name="mean_rmse", columns="a\nb").status_code == 303
    assert choose(olga, name="rmse", columns="a\nb", decimals="2").status_code == 303
    assert metric_of(olga) == NamedMetric(name="rmse", decimals=2)


def test_an_accepted_solution_is_checked_again_after_the_metric_changes(olga):
    choose(olga, name="rmse", target="price", weight="0.5")
    check = upload(olga, houses())
    page = olga.browser.get(check).text
    assert "<dt>price</dt>" in page and "Oslo" in page
    assert "Accept and continue" in page, re.findall("<li>.*", page)
    assert "identit" not in page.partition("<main")[2].partition("</main>")[0].casefold()
    assert olga.post(f"{check}/accept", {}).status_code == 303
    page = olga.browser.get(PAGE).text
    assert (
        "Column of the true values" in page
        and "Exponent p" not in page
        and 'name="positive_name"' not in page
    )
    assert set(metric_of(olga).scored_groups) == {("city", "Oslo"), ("city", "Rome")}
    changed = choose(olga, name="mae", target="price", weight="1")
    Desk(olga).work()
    assert "Accept and continue" in olga.browser.get(changed.location).text
    assert metric_of(olga) == NamedMetric(name="mae", target="price")


def test_a_solution_without_a_known_target_can_be_checked_with_a_chosen_role(olga):
    choose(olga, name="rmse")
    assert "id,target,country,Usage" in olga.browser.get(f"{HERE}/solution").text
    check = upload(olga, houses())
    page = olga.browser.get(check).text
    assert "no column is called" in page
    assert ">identity<" not in page
    names = dict(re.findall(r'<label for="(role-\d)">(?:Role of )?<strong>(\w+)</strong>', page))
    field = next(field for field, name in names.items() if name == "price")
    again = olga.post(f"{check}/roles", {field: "label"})
    Desk(olga).work()
    assert "Accept and continue" in olga.browser.get(again.location).text
