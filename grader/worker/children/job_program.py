"""Child process that scores submissions and runs organizers' jobs within resource limits."""

import os
import select
import signal
import sys
import threading
from functools import cached_property

from fairboard import check_golden_vectors
from grader import counters
from grader.observability import observe
from grader.settings import Settings, load
from grader.worker.children.job_child import ChildWork, time_limit_seconds
from grader.worker.process import ending
from grader.worker.process.child import answer_parent
from grader.worker.process.ending import end_process_after, keep_freed_memory, limit_memory
from grader.worker.process.repeating import log_error
from grader.worker.scorer import Scorer, yield_to_live_scoring


def main(settings: Settings) -> None:
    """Run jobs until the parent closes the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    counters.enable(settings.metrics_dir())
    observe("scorer", settings)
    check_golden_vectors()
    limit_memory(settings.scoring_memory_mb)
    keep_freed_memory()
    sandbox = Sandbox(settings)
    ending.end_on_request()
    answer_parent(lambda question, _: sandbox.do(ChildWork(question[0]), question[1]))


class Sandbox:
    """Runs jobs and batches within their time limits."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def do(self, work: ChildWork, subject_id: int) -> bool:
        """Run a job or a batch; return whether there was anything to do."""
        end_process_after(time_limit_seconds(self._settings, work))
        try:
            match work:
                case ChildWork.SCORE:
                    return self._scorer.run(subject_id, is_python=False)
                case ChildWork.PYTHON:
                    return self._scorer.run(subject_id, is_python=True)
                case ChildWork.RESCORE:
                    yield_to_live_scoring()
                    return self._scorer.run_batch(subject_id)
                case ChildWork.MEASURE:
                    yield_to_live_scoring()
                    return self._organize(subject_id)
                case ChildWork.ORGANIZE:
                    return self._organize(subject_id)
        except Exception as error:
            log_error(error, f"The requested work ({work} {subject_id}) could not be claimed or recorded")
            return False
        finally:
            end_process_after(0)

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer.of(self._settings)

    def _organize(self, job_id: int) -> bool:
        # This import is slow and must not delay scoring.
        from grader.worker.organizer_jobs.worker import OrganizerWorker

        threading.Thread(target=end_with_parent, name="parent", daemon=True).start()
        return OrganizerWorker.of(self._settings).run(job_id)


def end_with_parent() -> None:
    """End this process when the parent closes the socket, even while a job runs."""
    parent = select.poll()
    parent.register(sys.stdin.fileno(), 0)  # POLLHUP is always reported
    parent.poll()
    os._exit(1)


if __name__ == "__main__":
    main(load())
