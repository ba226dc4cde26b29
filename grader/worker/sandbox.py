"""The program of a `ScoringChild`: limits itself, ends at the time limit and when its parent is gone."""

import logging
import signal
import sys

from grader.metrics import check_golden_vectors
from grader.settings import load
from grader.worker.limits import end_process_after, limit_memory
from grader.worker.scoring import Scorer

logger = logging.getLogger(__name__)


def main() -> None:
    """Score the jobs that the parent names, until it closes the pipe; the argument is the log's level."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    logging.basicConfig(level=sys.argv[1], format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load()
    check_golden_vectors()
    limit_memory(settings.scoring_memory_mb)
    scorer = Scorer.of(settings)
    for line in sys.stdin.buffer:
        end_process_after(settings.scoring_time_limit_seconds)
        try:
            scorer.run(int(line))
        except Exception:
            logger.exception("Job %s could not be claimed or recorded.", int(line))
        end_process_after(0)
        sys.stdout.buffer.write(b"done\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
