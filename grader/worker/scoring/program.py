"""Child process that scores submissions within its limits, and ends with its parent."""

import logging
import os
import signal
import sys
from functools import cached_property

from grader.metrics import check_golden_vectors
from grader.settings import Settings, load
from grader.worker.process import stopping
from grader.worker.process.limits import end_process_after, limit_memory
from grader.worker.process.retrying import tell_of
from grader.worker.scoring.batch_scorer import NICENESS, BatchScorer, time_limit_seconds
from grader.worker.scoring.child import DONE, NOTHING_TO_DO, RESCORE
from grader.worker.scoring.scorer import Scorer


def main() -> None:
    """Score what the parent names, until it closes the pipe; the argument is the log's level."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    logging.basicConfig(level=sys.argv[1], format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    settings = load()
    check_golden_vectors()
    limit_memory(settings.scoring_memory_mb)
    sandbox = Sandbox(settings)
    stopping.end_on_request()
    for line in sys.stdin.buffer:
        what, subject_id = line.decode().split()
        answer = sandbox.do(what, int(subject_id))
        sys.stdout.buffer.write(f"{answer}\n".encode())
        sys.stdout.buffer.flush()


class Sandbox:
    """Scores jobs and batches, each within its time limit."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def do(self, what: str, subject_id: int) -> str:
        """Score a job or a batch of a scoring version; return whether there was something to do."""
        limit = self._settings.scoring_time_limit_seconds
        end_process_after(time_limit_seconds(self._settings) if what == RESCORE else limit)
        try:
            scorer = self._batch_scorer if what == RESCORE else self._scorer
            return DONE if scorer.run(subject_id) else NOTHING_TO_DO
        except Exception as error:
            tell_of(error, f"What was asked ({what} {subject_id}) could not be claimed or recorded")
            return NOTHING_TO_DO
        finally:
            end_process_after(0)

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer.of(self._settings)

    @cached_property
    def _batch_scorer(self) -> BatchScorer:
        os.nice(NICENESS)
        return BatchScorer.of(self._settings)


if __name__ == "__main__":
    main()
