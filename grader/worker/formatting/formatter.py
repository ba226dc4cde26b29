"""Parent side of the formatting of texts: start the child, one text at a time, each person's share."""

import json
import logging
import os
import signal
import threading
import time

from markupsafe import Markup

from grader.db import Database
from grader.prose.drawn import TOO_COMPLEX, Drawn, Figure, plain
from grader.services.figures import formatted_texts
from grader.worker.process.child import AnsweringProcess, running_module, without_secrets
from grader.worker.process.shares import Shares, ShareUsed

ANSWER_SECONDS = 30  # by the clock, with the start of the child; its own limit is processor time
WAIT_SECONDS = 5.0
REMEMBERED = 64
AT_ONCE = 20
# A child ended by one of these was ended by its text, not by somebody who stops the server.
ENDED_BY_TEXT = {-signal.SIGPROF, -signal.SIGABRT, -signal.SIGSEGV}

logger = logging.getLogger(__name__)


class Formatter:
    """Formats one text at a time in a child with limits of processor time and memory."""

    def __init__(self) -> None:
        self._child: AnsweringProcess | None = None
        self._start_afresh()

    def format(self, text: str, figures: tuple[Figure, ...] = (), *, who: int | None = None) -> Drawn:
        """Return a text as HTML; as it was written, with a fault, if it takes too long.

        Raises ShareUsed if the person `who` has used their share of the child, or the child is busy.
        """
        if self._pid != os.getpid():
            self._start_afresh()
        key = text, figures
        if not text.strip():
            return Drawn(Markup())
        if (known := self._known.get(key)) is not None:
            return known
        with self._shares.hold(who) as note:
            if not self._turn.acquire(timeout=WAIT_SECONDS):
                raise ShareUsed("Other texts are being formatted.", 1)
            started = time.monotonic()
            try:
                found = self._ask(text, figures)
            finally:
                note(time.monotonic() - started)
                self._turn.release()
        self._known[key] = found
        while len(self._known) > REMEMBERED:
            self._known.pop(next(iter(self._known)), None)
        return found

    def format_waiting(
        self, database: Database, *, slug: str | None = None, who: int | None = None
    ) -> dict[str, Drawn]:
        """Format and store texts without stored HTML, of one competition or of all; return them.

        Raises ShareUsed for a person; then the sweeper formats the remaining texts. The sweeper goes on with
        the other rows, so that one text cannot block them.
        """
        done: dict[str, Drawn] = {}
        with database.read() as session:
            waiting = formatted_texts.waiting(session, slug=slug, limit=AT_ONCE)
        for each in waiting:
            try:
                drawn = {text: self.format(text, each.figures, who=who) for text in each.texts}
            except ShareUsed:
                if who is not None:
                    raise
                continue
            with database.write() as session:
                formatted_texts.record(session, waiting=each, drawn=drawn)
            done |= drawn
        return done

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._turn = threading.Lock()
        self._shares = Shares("text", "format", "formatted")
        self._known: dict[tuple[str, tuple[Figure, ...]], Drawn] = {}
        self._failed: set[str] = set()
        self._child = None  # a forked process has its own

    def _ask(self, text: str, figures: tuple[Figure, ...]) -> Drawn:
        if self._child is not None and self._child.code is not None:
            self.close()
        if self._child is None:
            command = running_module("grader.worker.formatting.program")
            self._child = AnsweringProcess(command, environment=without_secrets())
        child = self._child
        try:
            question = json.dumps([text, figures]).encode() + b"\n"
            html, faults, summary = json.loads(child.ask(question, seconds=ANSWER_SECONDS))
        except OSError as error:
            child.ends_within(1)
            code = child.code
            self.close()
            # A second end from outside is attributed to the text: the machine may lack memory for it.
            if code not in ENDED_BY_TEXT and text not in self._failed:
                if len(self._failed) >= REMEMBERED:
                    self._failed.clear()
                self._failed.add(text)
                raise ShareUsed("The text could not be formatted now.", 1) from error
            logger.warning("A text of %s characters is too complex to format.", f"{len(text):,}")
            return Drawn(plain(text), (TOO_COMPLEX,))
        return Drawn(Markup(html), tuple(faults), summary)  # noqa: S704 - cleaned by the child
