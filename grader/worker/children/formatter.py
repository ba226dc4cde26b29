"""Parent side of text formatting: queue, time shares, stored HTML."""

import logging
import math
import signal

from markupsafe import Markup

from grader import logs
from grader.db import Database
from grader.prose.drawn import TOO_COMPLEX, Drawn, FigureSource, plain
from grader.services.competitions import formatted_texts
from grader.worker.process.child import ChildDied, RestartedChild, running_module, without_secrets
from grader.worker.process.shares import Shares, ShareUsed

# Wall time, excluding the child's startup. The child itself limits its CPU time.
ANSWER_SECONDS = 10
WAIT_SECONDS = 5.0
REMEMBERED = 64
AT_ONCE = 20
# Exit codes caused by a text, as opposed to signals that stop the server.
ENDED_BY_TEXT = {-signal.SIGPROF, -signal.SIGABRT, -signal.SIGSEGV}

logger = logging.getLogger(__name__)


class Formatter:
    """Formats one text at a time in a child process with CPU time and memory limits."""

    def __init__(self) -> None:
        self._child = RestartedChild(
            running_module("grader.worker.children.format_program"),
            environment=without_secrets() | logs.environment(),
        )
        self._shares = Shares(
            *("text", "format", "formatted"), wait_seconds=WAIT_SECONDS, most_waiting=math.inf
        )
        self._known: dict[tuple[str, tuple[FigureSource, ...]], Drawn] = {}
        self._failed: set[str] = set()

    def format(self, text: str, figures: tuple[FigureSource, ...] = (), *, who: int | None = None) -> Drawn:
        """Return a text as HTML, or as plain text if formatting takes too long; raise ShareUsed."""
        key = text, figures
        if not text.strip():
            return Drawn(Markup())
        if (known := self._known.get(key)) is not None:
            return known
        with self._shares.hold(who) as is_mine:
            if not is_mine:
                raise ShareUsed("Other texts are being formatted.", 1)
            found = self._ask(text, figures)
        self._known[key] = found
        while len(self._known) > REMEMBERED:
            self._known.pop(next(iter(self._known)), None)
        return found

    def format_waiting(
        self, database: Database, *, slug: str | None = None, who: int | None = None
    ) -> dict[str, Drawn]:
        """Format and store the texts without stored HTML of one or all competitions; return them.

        Raises ShareUsed if `who` is given. If it is not, as in the sweeper, texts that take too long are
        skipped so that one text cannot block the others.
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
        self._child.close()

    def _ask(self, text: str, figures: tuple[FigureSource, ...]) -> Drawn:
        try:
            html, faults, summary = self._child.ask([text, figures], seconds=ANSWER_SECONDS)
        except ChildDied as died:
            # If a second child is killed externally, the text is blamed, because the machine may lack memory
            # for it.
            if died.code not in ENDED_BY_TEXT and text not in self._failed:
                if len(self._failed) >= REMEMBERED:
                    self._failed.clear()
                self._failed.add(text)
                raise ShareUsed("The text could not be formatted.", 1) from died
            logger.warning("A text of %s characters is too complex to format.", f"{len(text):,}")
            return Drawn(plain(text), (TOO_COMPLEX,))
        return Drawn(Markup(html), tuple(faults), summary)  # noqa: S704 - cleaned by the child
