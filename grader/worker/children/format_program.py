"""Child process that formats Markdown without access to settings, database or storage."""

import logging
from collections.abc import Sequence
from typing import Any

from grader import logs
from grader.prose import markdown
from grader.prose.drawn import TOO_COMPLEX, FigureSource, plain
from grader.worker.process.child import answer_parent
from grader.worker.process.ending import end_process_after_cpu, limit_memory

CPU_SECONDS = 2.0
MEMORY_MB = 1024
MOST_CHARACTERS = 1_000_000  # limits the HTML, because references can repeat a long URL

logger = logging.getLogger(__name__)


def main() -> None:
    """Format texts until the parent closes the socket."""
    logs.configure_child("formatter")
    limit_memory(MEMORY_MB)
    answer_parent(lambda question, _: _format(*question))


def _format(text: str, figures: Sequence[Sequence[Any]]) -> list[Any]:
    """Return a text's HTML, its list of problems, and its summary."""
    end_process_after_cpu(CPU_SECONDS)
    try:
        drawn = markdown.drawn(text, tuple(FigureSource(*each) for each in figures))
        answer = [drawn.html, drawn.faults, markdown.first_line(text)]
        if len(drawn.html) > MOST_CHARACTERS:
            answer[:2] = plain(text), [TOO_COMPLEX]
    except Exception:
        logger.exception("A text could not be formatted.")
        answer = [plain(text), [TOO_COMPLEX], ""]
    end_process_after_cpu(0)
    return answer


if __name__ == "__main__":
    main()
