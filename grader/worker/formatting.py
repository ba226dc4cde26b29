"""Conversion of organizers' texts to stored HTML."""

import logging
import signal
from typing import Any

from markupsafe import Markup

from grader.db import Database
from grader.prose import markdown
from grader.prose.drawn import TOO_COMPLEX, Drawn, FigureSource, plain
from grader.services.competitions import formatted_texts
from grader.worker import isolated
from grader.worker.isolated import Busy, CallDied

SECONDS = 10
CPU_SECONDS = 2.0
MEMORY_MB = 1024
AT_ONCE = 20
ENDED_BY_TEXT = (-signal.SIGPROF, -signal.SIGABRT, -signal.SIGSEGV)

logger = logging.getLogger(__name__)


def format_text(text: str, figures: tuple[FigureSource, ...] = ()) -> Drawn:
    """Return a text as HTML, or as plain text if formatting takes too long; raise Busy."""
    if not text.strip():
        return Drawn(Markup())
    limits: Any = {"seconds": SECONDS, "cpu_seconds": CPU_SECONDS, "memory_mb": MEMORY_MB}
    try:
        return isolated.call(markdown.bounded, text, figures, **limits)
    except CallDied as died:
        if died.code not in ENDED_BY_TEXT:  # the machine may lack memory at the moment
            raise Busy from died
        logger.warning("A text of %s characters is too complex to format.", f"{len(text):,}")
        return Drawn(plain(text), (TOO_COMPLEX,))


def format_waiting(database: Database, *, slug: str | None = None) -> None:
    """Format and store the texts without stored HTML of one or all competitions; raise Busy."""
    with database.read() as session:
        waiting = formatted_texts.waiting(session, slug=slug, limit=AT_ONCE)
    for each in waiting:
        drawn = {text: format_text(text, each.figures) for text in each.texts}
        with database.write() as session:
            formatted_texts.record(session, waiting=each, drawn=drawn)
