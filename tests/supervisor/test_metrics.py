"""Metrics of a real service: agreement with the database while processes work and are killed."""

import random
import sqlite3
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.fixtures.patience import HANG_SECONDS, eventually

TOKEN = "a token of the tests"
UPLOADS = "/api/v1/competitions/cup/submissions"


@pytest.fixture
def running(make_service):
    """A service with two web processes that serves metrics."""
    return (
        make_service(
            {
                "FAIRBOARD_METRICS_TOKEN": TOKEN,
                "FAIRBOARD_WEB_WORKERS": "2",
                "FAIRBOARD_RATE_LIMITS": "false",
            }
        )
        .start()
        .wait_until_ready()
    )


def set_up(running, tmp_path) -> str:
    """Create a competition without limits and a participant, and return the participant's token."""
    dice = random.Random(3)
    lines = ["id,target,cat,dog"]
    lines += [",".join(map(str, (number, *(dice.randint(0, 1) for _ in range(3))))) for number in range(400)]
    solution = tmp_path / "solution.csv"
    solution.write_text("\n".join(lines) + "\n")
    running.create_competition(
        solution,
        *("max_daily_submissions=null", "max_total_submissions=null"),
        *("max_pending_submissions=1000", "max_hourly_rejections=1000"),
    )
    assert running.command_here("user", "create", "anna").exit_code == 0
    return running.command_here("token", "create", "anna").stdout.strip()


def file(number: int) -> bytes:
    """Return a submission; every fifth one is rejected."""
    dice = random.Random(number)
    rows = 300 if number % 5 == 0 else 400
    return ("id,prediction\n" + "".join(f"{row},{dice.random()}\n" for row in range(rows))).encode()


def send(running, token: str, number: int) -> int:
    """Upload a file, repeating the request while the connection fails, and return the status."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/csv"}
    headers["Idempotency-Key"] = f"key {number}"

    def sent() -> int:
        request = urllib.request.Request(running.address + UPLOADS, data=file(number), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except (urllib.error.URLError, ConnectionError):
            return 0

    return eventually(sent, "response to an upload")


def scrape(address: str, token: str = TOKEN) -> dict[str, float]:
    """Return the values of the metrics by name and label values."""
    request = urllib.request.Request(f"{address}/metrics", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
        text = answer.read().decode()
    return {
        "/".join((sample.name.removeprefix("fairboard_"), *sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def stored(running) -> dict[str, int]:
    """Return the number of submissions by status, according to the database."""
    with closing(sqlite3.connect(running.data_dir / "fairboard.db")) as database:
        return dict(database.execute("SELECT status, count(*) FROM submission GROUP BY status"))


def web_processes(running) -> list[psutil.Process]:
    return running.child("gunicorn").children()


@pytest.mark.long
def test_metrics_agree_with_the_database_and_lose_no_count_when_processes_are_killed(running, tmp_path):
    token = set_up(running, tmp_path)
    eventually(lambda: len(web_processes(running)) == 2)
    is_over, scraped = threading.Event(), []

    def keep_scraping() -> None:
        while not is_over.wait(0.05):
            with suppress(urllib.error.URLError, ConnectionError):  # a web process was killed
                scraped.append(scrape(running.address)["accepted_uploads_total"])

    scraper = threading.Thread(target=keep_scraping)
    scraper.start()
    with ThreadPoolExecutor(4) as clients:
        statuses = list(clients.map(lambda number: send(running, token, number), range(40)))
        agree(running, uploads=40)
        for process in web_processes(running):  # Nothing is in progress, so no count may be lost.
            process.kill()
        statuses += clients.map(lambda number: send(running, token, number), range(40, 60))
        agree(running, uploads=60)
        later = [clients.submit(send, running, token, number) for number in range(60, 120)]
        web_processes(running)[0].kill()
        running.child("worker@%h").children()[0].kill()
        statuses += [each.result() for each in later]
    is_over.set()
    scraper.join()
    assert set(statuses) <= {200, 201}
    found = agree(running, uploads=None)
    # Each of the four clients may have had one upload between its commit and its count.
    assert 120 - 4 <= found["accepted_uploads_total"] <= 120 == sum(stored(running).values())
    assert scraped == sorted(scraped)
    assert scraped
    for wrong in ("", "another token of tests"):
        with pytest.raises(urllib.error.HTTPError) as denied:
            scrape(running.address, wrong)
        with denied.value:
            assert denied.value.code == 401
    assert running.stop() == 0
    assert TOKEN not in running.log()
    assert ((running.data_dir / "metrics").stat().st_mode & 0o777) == 0o700


def agree(running, *, uploads: int | None) -> dict[str, float]:
    """Wait until everything is scored, and compare the metrics with the database."""
    eventually(lambda: "pending" not in stored(running), "scoring")
    expected = stored(running)

    def is_read_again() -> dict[str, float] | None:
        found = scrape(running.address)
        return found if all(found[f"submissions/{name}"] == n for name, n in expected.items()) else None

    found = eventually(is_read_again, lambda: f"{scrape(running.address)} {expected}")
    assert (found["submissions/pending"], found["jobs/scoring/waiting"]) == (0, 0)
    assert found["database_up"] == found["broker_up"] == 1
    if uploads is not None:
        assert sum(expected.values()) == found["accepted_uploads_total"] == uploads
        assert found["scoring_seconds_count/total"] == found["scoring_seconds_count/record"] == uploads
        assert found["scoring_seconds_count/read"] == uploads
        assert found["scoring_seconds_count/compute"] == expected["scored"]
        assert sum(n for name, n in found.items() if name.startswith("rejected_files_total")) == uploads / 5
    return found
