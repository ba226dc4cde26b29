"""SMTP delivery of queued e-mails."""

import logging
import math
import smtplib
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial

from grader import db
from grader.db import Database
from grader.models import Mail
from grader.services.site import outbox
from grader.settings import Settings
from grader.worker.retrying import insist

# Timeout of each step. All steps together must take less time than the lease.
TIMEOUT_SECONDS = 20

logger = logging.getLogger(__name__)


class Mailer:
    """Sends e-mails from the outbox, oldest first, through the configured mail server."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    def send_waiting(self, is_over: Callable[[], bool] = lambda: False) -> int:
        """Send waiting e-mails over one connection; return the number sent; raise connection errors."""
        letter = self._claim()
        if letter is None:
            return 0
        sent = 0
        try:
            with self._connected() as server:
                while letter is not None:
                    sent += self._send(server, letter)
                    letter = None if is_over() else self._claim()
        except (OSError, smtplib.SMTPException) as error:
            if letter is not None:
                self._record_failed(letter, error, is_final=False)
            raise
        with self._database.write() as session:
            outbox.forget_old(session, now=db.now(session))
        return sent

    def _send(self, server: smtplib.SMTP, letter: Mail) -> bool:
        """Send one e-mail; record errors caused by the e-mail and raise errors of the server."""
        try:
            server.send_message(self._message(letter), self._settings.sender().addr_spec, [letter.to_address])
        except smtplib.SMTPRecipientsRefused as error:
            code, answer = next(iter(error.recipients.values()))
            self._record_failed(letter, smtplib.SMTPResponseException(code, answer), is_final=code >= 500)
        except smtplib.SMTPDataError as error:
            self._record_failed(letter, error, is_final=error.smtp_code >= 500)
        except ValueError as error:  # an invalid header
            self._record_failed(letter, error, is_final=True)
        else:
            # The write is retried as long as this process runs, because an unrecorded e-mail would be sent
            # again.
            insist(partial(self._record_sent, letter), patience_seconds=math.inf)
            return True
        return False

    def _record_sent(self, letter: Mail) -> None:
        with self._database.write() as session:
            outbox.record_sent(session, claimed=letter, now=db.now(session))

    def _message(self, letter: Mail) -> EmailMessage:
        """Return a plain-text e-mail with the same Message-ID for every attempt."""
        sender, site = self._settings.sender(), self._settings.site()
        message = EmailMessage()
        message["From"] = sender
        message["To"] = Address(addr_spec=letter.to_address)
        message["Subject"] = letter.subject
        message["Date"] = format_datetime(letter.created_at)
        message["Message-ID"] = f"<fairboard.{letter.id}.{letter.created_at.timestamp():.0f}@{sender.domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(letter.body.replace(outbox.SITE, site))
        return message

    def _claim(self) -> Mail | None:
        with self._database.write() as session:
            return outbox.claim(session, now=db.now(session))

    def _record_failed(self, letter: Mail, error: Exception, *, is_final: bool) -> None:
        logger.warning("E-mail %d was not sent: %s", letter.id, error)
        with self._database.write() as session:
            outbox.record_failed(
                session, claimed=letter, error=str(error), is_final=is_final, now=db.now(session)
            )

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        settings = self._settings
        host, port, tls = settings.smtp_host or "", settings.smtp_port, ssl.create_default_context()
        if settings.smtp_security == "ssl":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_SECONDS, context=tls)
        else:
            server = smtplib.SMTP(host, port, timeout=TIMEOUT_SECONDS)
        with server:
            if settings.smtp_security == "starttls":
                server.starttls(context=tls)
            if settings.smtp_user is not None and settings.smtp_password is not None:
                server.login(settings.smtp_user, settings.smtp_password.get_secret_value())
            yield server
