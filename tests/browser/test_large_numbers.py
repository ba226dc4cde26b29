"""Layout of pages with numbers of any size and long names."""

from datetime import UTC, datetime

import pytest

from tests.browser.looks import faults
from tests.fixtures.databases import set_clock
from tests.webapp import test_any_metric as any_metric

pytestmark = pytest.mark.browser
PAGES = ("", "/leaderboard", "/submissions", "/submissions/{own}", "/submissions/compare", "/evaluation")


class Scaled(any_metric.Numbers):
    """A regression whose errors have another size."""

    def __init__(self, metric, size):
        super().__init__()
        self.metric = metric
        self.predicted = [self.truth + size * (each - self.truth) for each in self.predicted]


@pytest.mark.parametrize(
    ("metric", "size"), [("rmse", 1e-6), ("rmse", 14_398.67), ("rmse", 1e10), ("r2", 1e4)]
)
def test_pages_fit_a_phone_with_scores_of_any_size_and_long_names(live, browser, monkeypatch, metric, size):
    set_clock(monkeypatch, lambda: datetime(2030, 1, 1, tzinfo=UTC))
    monkeypatch.setattr(any_metric, "TEAMS", ("Ann", "B" * 40, "Cem of the " + "long " * 5 + "name"))
    monkeypatch.setattr(any_metric, "COLUMN", "x" * 92 if size == 1e10 else "mental_" * 13 + "z")
    monkeypatch.setattr(live.hints, "send", lambda _: None)
    task = Scaled(metric, size)
    _, (ann, *_), (own, *_) = any_metric.opened(live, task, reported=["mae"])
    sent = {"data": any_metric.submission(task, 1), "content_type": "text/csv"}
    ann("POST", f"{any_metric.HERE}/submissions?again=true", **sent, expect=201)
    live.score_all()
    context = browser.new_context()
    token = ann.person.browser.get_cookie("fairboard_login").value
    context.add_cookies([{"name": "fairboard_login", "value": token, "url": live.address}])
    page, found = context.new_page(), list[str]()
    for path in PAGES:
        found += faults(page, f"{live.address}/competitions/any{path.format(own=own)}")
    context.close()
    assert not found, "\n".join(found)
