"""Mailer with a real mail server."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import psycopg
import pytest
from sqlalchemy import select

from grader.models import Mail
from grader.services.site import outbox
from grader.services.site.outbox import GIVEN_UP_AFTER, LEASE
from grader.worker.mailer import Mailer
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.races import race

ADA, BOB = "ada@example.org", "bob@example.org"


@pytest.fixture
def mailer(service, make_settings, post):
    return Mailer(make_settings(**post.settings), service.database)


@pytest.fixture
def now(service):
    from grader import db

    with service.database.read() as session:
        return db.now(session)


def write(service, now, **changes):
    mail_ = {"to_address": ADA, "subject": "Hello", "body": "A text.\n", "now": now} | changes
    with service.database.write() as session:
        outbox.write(session, **mail_)


def rows(service):
    with service.database.read() as session:
        return list(session.scalars(select(Mail).order_by(Mail.id)))


def test_email_arrives_once_as_plain_text_and_its_text_is_deleted(service, mailer, post, now):
    write(service, now, subject="Größe ✓", body=f"Hello Żółw,\n\n{outbox.SITE}/reset/abc\n")
    assert mailer.send_waiting() == 1
    assert mailer.send_waiting() == 0
    (message,) = post.received
    assert post.recipients == [[ADA]]
    assert message["Subject"] == "Größe ✓"
    assert message["From"] == "Fairboard <board@board.example>"
    assert message.get_content_type() == "text/plain"
    assert message.get_content().replace("\r\n", "\n") == "Hello Żółw,\n\nhttps://board.example/reset/abc\n"
    (row,) = rows(service)
    assert row.sent_at is not None and row.body == ""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_one_key_sends_one_email_to_each_of_many_recipients(service, now, monkeypatch):
    monkeypatch.setattr(outbox, "CHUNK", 1)
    people = [service.user(name) for name in ("ada", "bob")]
    for each, address in zip(people, (ADA, BOB), strict=True):
        each.email, each.email_verified_at = address, now
    for letters in ([(people[0], "One.")], [(each, "Two.") for each in people]):
        with service.database.write() as session:
            outbox.notify(
                session, letters, kind=outbox.Notice.RESULTS, key="results:1", subject="Out", now=now
            )
    with service.database.read() as session:
        assert sorted(session.scalars(select(Mail.key))) == sorted(f"{each.id}:results:1" for each in people)


def test_subject_or_name_cannot_inject_headers(service, mailer, post, now):
    write(
        service, now, subject="Team\r\nBcc: eve@example.org\n\nboo\u2028x", body="Hi\r\nBcc: eve@example.org"
    )
    mailer.send_waiting()
    (message,) = post.received
    assert message["Bcc"] is None
    assert message["Subject"] == "Team Bcc: eve@example.org boo x"
    assert post.recipients == [[ADA]]


def test_address_with_two_recipients_is_rejected(service, mailer, post, now):
    write(service, now, to_address=f"{ADA}, {BOB}")
    mailer.send_waiting()
    assert post.received == []
    assert rows(service)[0].available_at > now + GIVEN_UP_AFTER - timedelta(minutes=1)


def test_temporary_failure_is_retried_with_growing_pauses(service, mailer, post, now):
    write(service, now)
    post.answers = ["451 later"]
    assert mailer.send_waiting() == 0
    (row,) = rows(service)
    assert (row.attempt_count, row.sent_at) == (1, None)
    assert "451" in row.error
    assert outbox.pause_after(1) <= row.available_at - now < outbox.pause_after(2)
    assert [outbox.pause_after(n) for n in (1, 2, 3)] == [timedelta(minutes=m) for m in (1, 2, 4)]
    assert outbox.pause_after(99) == outbox.LONGEST_PAUSE
    assert mailer.send_waiting() == 0  # The pause is not over.
    with service.database.write() as session:
        session.get_one(Mail, row.id).available_at = now
    assert mailer.send_waiting() == 1


def test_unknown_mailbox_is_not_retried_and_blocks_nothing(service, mailer, post, now):
    post.refused = {ADA}
    write(service, now)
    write(service, now, to_address=BOB)
    assert mailer.send_waiting() == 1
    assert [message["To"] for message in post.received] == [BOB]
    with service.database.write() as session:
        assert outbox.claim(session, now=now + GIVEN_UP_AFTER) is None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"smtp_port": 1}, "refused"),
        ({"smtp_password": "guessed"}, "535"),
        ({"smtp_security": "starttls"}, "STARTTLS"),
    ],
)
def test_unusable_server_costs_one_attempt_and_receives_no_text(
    service, make_settings, post, now, change, error
):
    write(service, now)
    mailer = Mailer(make_settings(**post.settings | change), service.database)
    with pytest.raises(OSError, match=error):
        mailer.send_waiting()
    (row,) = rows(service)
    assert (row.attempt_count, post.received, "guessed" in row.error) == (1, [], False)


def test_encrypted_connection_requires_a_trusted_certificate(
    service, make_settings, encrypting_post, now, monkeypatch
):
    settings = make_settings(**encrypting_post.settings | {"smtp_security": "starttls"})
    write(service, now)
    with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
        Mailer(settings, service.database).send_waiting()
    assert encrypting_post.received == []
    monkeypatch.setenv("SSL_CERT_FILE", str(encrypting_post.certificate))
    write(service, now, to_address=BOB)
    assert Mailer(settings, service.database).send_waiting() == 1
    assert encrypting_post.recipients == [[BOB]]


def test_sweeper_process_sends_email(service, make_settings, post, now):
    write(service, now)
    settings = make_settings(**post.settings, sweep_after_seconds=0)
    sweeper = subprocess.Popen(
        [sys.executable, "-m", "grader.cli", "sweeper"], env=os.environ | settings.environment()
    )
    try:
        eventually(lambda: post.received, "an e-mail")
        assert [message["To"] for message in post.received] == [ADA]
    finally:
        sweeper.send_signal(signal.SIGTERM)
        assert sweeper.wait(HANG_SECONDS) == 0


def test_email_sent_during_a_database_outage_is_recorded_later_and_sent_once(
    service, mailer, post, now, monkeypatch
):
    record_sent, tries = outbox.record_sent, []

    def away_at_first(*args, **kwargs):
        tries.append(len(post.received))
        if len(tries) < 3:
            raise psycopg.OperationalError("The connection is gone.")
        record_sent(*args, **kwargs)

    monkeypatch.setattr(outbox, "record_sent", away_at_first)
    monkeypatch.setattr("grader.worker.retrying.PAUSE_SECONDS", 0)
    write(service, now)
    assert mailer.send_waiting() == 1
    assert tries == [1, 1, 1]
    assert rows(service)[0].sent_at is not None
    with service.database.write() as session:
        assert outbox.claim(session, now=now + LEASE) is None


def test_concurrent_mailers_send_each_email_once(service, make_settings, post, now):
    for place in range(12):
        write(service, now, to_address=f"p{place}@example.org")
    mailers = [Mailer(make_settings(**post.settings), service.database) for _ in range(3)]
    race(*(each.send_waiting for each in mailers))
    assert sorted(to for (to,) in post.recipients) == sorted(f"p{place}@example.org" for place in range(12))


def test_email_is_discarded_after_two_days(service, now):
    write(service, now)
    with service.database.write() as session:
        assert outbox.claim(session, now=now + GIVEN_UP_AFTER) is None
        outbox.forget_old(session, now=now + outbox.KEPT)
    assert rows(service) == []
