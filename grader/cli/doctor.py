"""`fairboard doctor`."""

import dataclasses
import json
from collections.abc import Iterator

import click
from redis import Redis
from redis.exceptions import RedisError

from grader.cli.installation import load_settings, opened_database
from grader.db import Database
from grader.services import diagnosis, schema
from grader.services.diagnosis import Finding, Level
from grader.settings import Settings
from grader.storage import open_storage

MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.ALARM: "ALARM  "}


@click.command()
@click.option("--read-all", is_flag=True, help="Read every blob whole; by default they are only listed.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(read_all: bool, as_json: bool) -> None:
    """Look at everything that can go wrong and say what to do; exit with 1 where something is wrong."""
    settings = load_settings()
    with opened_database(settings) as database:
        findings = list(_findings(settings, database, read_all))
    if as_json:
        click.echo(json.dumps({"findings": [dataclasses.asdict(each) for each in findings]}, indent=1))
    else:
        for each in findings:
            click.echo(f"{MARKS[each.level]}  {each.subject}: {each.message}")
    if any(each.level is Level.ALARM for each in findings):
        raise click.exceptions.Exit(1)


def _findings(settings: Settings, database: Database, read_all: bool) -> Iterator[Finding]:
    yield from diagnosis.of_settings(settings)
    yield from diagnosis.of_disks(settings)
    yield from diagnosis.of_tables(database)
    yield from _of_broker(settings)
    yield from _of_arithmetic()
    if not schema.is_current(database):
        return
    yield from diagnosis.of_blobs(database, open_storage(settings.storage()), read_all=read_all)
    with database.read() as session:
        yield from diagnosis.of_scoring(session)
        if settings.sends_mail():
            yield from diagnosis.of_mail(session)


def _of_broker(settings: Settings) -> Iterator[Finding]:
    if settings.broker_url is None:
        yield Finding(Level.OK, "queue", "None is set: `serve` starts its own, and the sweeper needs none.")
        return
    url = settings.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)
    try:
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as broker:
            broker.ping()
    except RedisError as error:
        yield Finding(
            Level.WARNING, "queue", f"It does not answer ({error}). The sweeper scores alone, seconds later."
        )
    else:
        yield Finding(Level.OK, "queue", "It answers.")


def _of_arithmetic() -> Iterator[Finding]:
    from grader.metrics import check_golden_vectors

    try:
        check_golden_vectors()
    except Exception as error:  # whatever is wrong with this machine's libraries
        yield Finding(Level.ALARM, "arithmetic", f"This machine computes other scores than others: {error}")
    else:
        yield Finding(Level.OK, "arithmetic", "The golden vectors have the scores that they have everywhere.")
