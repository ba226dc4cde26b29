"""`fairboard doctor`: check an installation and print what is wrong."""

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import suppress

import click
from redis import Redis
from redis.exceptions import RedisError

from grader.cli.installation import load_settings, make_data_folder, opened_database, require_entry
from grader.db import Database
from grader.maintenance import doctor_machine, doctor_stored, schema
from grader.maintenance.doctor_stored import Finding, Level
from grader.settings import PREFIX, Settings
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock, valkey

MARKS = {Level.OK: "ok     ", Level.WARNING: "warning", Level.ALARM: "ALARM  "}


@click.command()
@click.option("--read-all", is_flag=True, help="Read every blob completely; by default they are only listed.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(read_all: bool, as_json: bool) -> None:
    """Find out what is wrong and what to do about it; exit with 1 if anything is wrong."""
    settings = load_settings()
    findings = list(_findings(settings, read_all))
    if as_json:
        click.echo(json.dumps({"findings": [dataclasses.asdict(each) for each in findings]}, indent=1))
    else:
        for each in findings:
            click.echo(f"{MARKS[each.level]}  {each.subject}: {each.message}")
    if any(each.level is Level.ALARM for each in findings):
        raise click.exceptions.Exit(1)


def _findings(settings: Settings, read_all: bool) -> Iterator[Finding]:
    try:
        make_data_folder(settings)
        require_entry(settings, os.R_OK | os.X_OK)
    except click.ClickException as error:
        yield doctor_stored.alarm("rights", error.message)
        return
    yield from doctor_machine.of_settings(settings)
    yield from doctor_machine.of_rights(settings)
    yield from doctor_machine.of_disks(settings)
    yield from _of_service(settings)
    yield from _of_broker(settings)
    yield from _of_arithmetic()
    storage = open_storage(settings.storage())
    yield from doctor_stored.of_storage(storage)
    try:
        with opened_database(settings) as database:
            yield from _of_database(settings, database, storage, read_all)
    except click.ClickException as error:
        yield doctor_stored.alarm("database", error.message)


def _of_database(
    settings: Settings, database: Database, storage: Storage, read_all: bool
) -> Iterator[Finding]:
    yield from doctor_stored.of_tables(database)
    if not schema.is_current(database):
        return
    with suppress(StorageUnavailable):  # told above
        yield from doctor_stored.of_blobs(database, storage, read_all=read_all)
    with database.read() as session:
        yield from doctor_stored.of_scoring(session)
        if settings.sends_mail():
            yield from doctor_stored.of_mail(session)


def _of_service(settings: Settings) -> Iterator[Finding]:
    served_by = lock.holder(settings.data_dir)
    yield doctor_stored.ok(
        "service",
        f"The folder is served by {served_by}."
        if served_by
        else "`fairboard serve` does not run on this folder.",
    )


def _of_broker(settings: Settings) -> Iterator[Finding]:
    if settings.broker_url is not None:
        url = settings.broker_url.get_secret_value().replace("redis+socket://", "unix://", 1)
        hint = f"Does it run, and is {PREFIX}BROKER_URL right?"
    elif lock.holder(settings.data_dir):
        url = f"unix://{valkey.socket_path(settings.data_dir.resolve())}"
        hint = f"{settings.data_dir / 'valkey' / 'valkey.log'} says why."
    else:
        yield doctor_stored.ok("queue", "None is set: `serve` starts its own, and the sweeper needs none.")
        return
    try:
        with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as broker:
            broker.ping()
    except (RedisError, ValueError) as error:
        yield doctor_stored.warning(
            "queue", f"It does not answer ({error}). {hint} The sweeper scores alone, seconds later."
        )
    else:
        yield doctor_stored.ok("queue", "It answers.")


def _of_arithmetic() -> Iterator[Finding]:
    from grader.metrics import check_golden_vectors

    try:
        check_golden_vectors()
    except Exception as error:  # whatever is wrong with this machine's libraries
        yield doctor_stored.alarm(
            "arithmetic",
            f"This machine computes other scores than others: {error}. Install the locked packages again.",
        )
    else:
        yield doctor_stored.ok("arithmetic", "The golden vectors have the scores that they have everywhere.")
