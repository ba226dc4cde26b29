"""Metrics: the state of the site, failures."""

import math
from datetime import timedelta

from prometheus_client.parser import text_string_to_metric_families

from grader import db
from grader.counters import METERS
from grader.maintenance.exporter import Exporter
from grader.models import BackupRun
from tests.fixtures.patience import HANG_SECONDS


def values(text):
    """Return the values of the metrics without labels, and of the others by their label values."""
    families = text_string_to_metric_families(text.decode())
    return {
        "/".join((sample.name.removeprefix("fairboard_"), *sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def test_age_of_the_backup_is_infinite_until_the_first_scheduled_one(service):
    unscheduled = Exporter(service.settings, service.database)
    assert "backup_age_seconds" not in values(unscheduled.text())
    settings = service.settings.model_copy(update={"backup_target": "s3://backups"})
    scheduled = Exporter(settings, service.database)
    assert values(scheduled.text())["backup_age_seconds"] == math.inf
    with service.database.write() as session:
        now = db.now(session)
        session.add(BackupRun(target="s3://backups", started_at=now - timedelta(hours=5), ended_at=now))
    for each, days in ((unscheduled, 7), (scheduled, 1)):
        read = values(each.text())
        assert 5 * 3600 <= read["backup_age_seconds"] < 5 * 3600 + HANG_SECONDS
        assert read["backup_interval_seconds"] == days * 86_400


def test_without_its_database_the_exporter_reports_the_rest(make_settings, own_counters):
    """Nothing listens at port 1."""
    settings = make_settings(
        database_url="postgresql://x@127.0.0.1:1/x",
        broker_url="redis://127.0.0.1:1/0",
    )
    database = db.Database(settings.database())
    found = values(Exporter(settings, database).text())
    database.dispose()
    assert (found["database_up"], found["broker_up"]) == (0, 0)
    assert 0 < found["disk_free_bytes/data"] <= found["disk_size_bytes/data"]
    assert found["disk_reserve_bytes"] == 500_000_000
    assert not {name for name in found if name.startswith(("jobs", "submissions", "broker_ping"))}


def test_names_have_the_prefix_of_the_site_and_are_unique():
    names = [meter.name for meter in METERS]
    assert len(set(names)) == len(names)
    assert all(name.startswith("fairboard_") for name in names)
