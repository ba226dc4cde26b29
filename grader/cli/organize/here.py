"""Local site for commands: the web application in this process, and its pending jobs."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import urlsplit

import httpx

from grader.cli.installation import Installation, opened
from grader.cli.output import ProgressLine
from grader.client import Client
from grader.models import OrganizerJob, OrganizerJobKind, ScoringVersion
from grader.services.competitions import lookup
from grader.services.jobs import organizer_jobs
from grader.services.rescoring import preparation
from grader.storage.stores import StorageUnavailable
from grader.worker.children.job_child import JobChild
from grader.worker.organizer_jobs.context import Work
from grader.worker.organizer_jobs.worker import HANDLERS, OrganizerWorker
from webapp.app import create_app
from webapp.http.site import Shell

IN_MEMORY_BYTES = 2**20  # maximum size of a request body that is kept in memory
WHAT = {
    OrganizerJobKind.DATA: "bytes checked",
}


class ClientHere(Client):
    """A client of the local installation that uses no network."""

    def __init__(self, here: Installation, **options: Any) -> None:
        address = urlsplit(here.link(""))
        super().__init__(f"{address.scheme}://{address.netloc}", patience_seconds=0, **options)
        self.installation = here


@contextmanager
def site_here(acts_as: str | None = None) -> Iterator[ClientHere]:
    """Open the installation that the environment configures, as a site for the shell or for the named user.

    Only this command can reach the application, which has no listener. No other request has the shell's
    rights.
    """
    with opened() as here, _WaitingWork(here) as work:
        app = create_app(
            here.settings.model_copy(update={"rate_limits": False}),
            database=here.database,
            storage=here.storage,
            hints=_NoHints(),
            shell=Shell(acts_as),
        )
        with ClientHere(here, http=_InProcess(app), on_wait=work.do) as client:
            yield client


class _NoHints:
    """A queue that sends no hints, because a running service finds waiting jobs anyway."""

    def send(self, job_ids: Sequence[int]) -> None:
        """Do nothing."""


class _InProcess(httpx.BaseTransport):
    """A transport to an application in this process; large bodies are buffered in a file."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the application; its exceptions are not caught."""
        with ExitStack() as stack:
            body = stack.enter_context(SpooledTemporaryFile(IN_MEMORY_BYTES))
            for piece in request.stream:  # type: ignore[union-attr]
                body.write(piece)
            body.seek(0)
            answer = self._app.test_client(use_cookies=False).open(
                request.url.raw_path.decode("ascii"),
                base_url=f"{request.url.scheme}://{request.url.netloc.decode('ascii')}",
                method=request.method,
                headers=list(request.headers.items()),
                input_stream=body,
                # Compression is useless within one process.
                environ_overrides={"HTTP_ACCEPT_ENCODING": "identity"},
            )
            stack.callback(answer.close)
            stream = _Pieces(answer.response, stack.pop_all())
        return httpx.Response(answer.status_code, headers=list(answer.headers), stream=stream)


class _Pieces(httpx.SyncByteStream):
    """The body of a response, streamed from the application, and the resources to close with it."""

    def __init__(self, pieces: Iterable[bytes], stack: ExitStack) -> None:
        self._pieces = pieces
        self._stack = stack

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces

    def close(self) -> None:
        """Close the application's response."""
        self._stack.close()


class _WaitingWork:
    """Runs a competition's pending jobs in this process, even while the service runs."""

    def __init__(self, here: Installation) -> None:
        self._here = here
        self._child: JobChild | None = None
        self._stack = ExitStack()

    def __enter__(self) -> "_WaitingWork":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def do(self, slug: str) -> bool:
        """Run a competition's organizer jobs and its open rescoring; return whether any job ran.

        Raises StorageUnavailable if the storage cannot be reached; the jobs stay pending.
        """
        with self._here.database.read() as session:
            competition = lookup.get(session, slug=slug)
            jobs = organizer_jobs.open_of(session, competition=competition)
            version = preparation.open_version(session, competition=competition)
        done = [self._do_job(job) for job in jobs]
        return any(done) or (version is not None and self._score(version))

    def _do_job(self, job: OrganizerJob) -> bool:
        unavailable: list[StorageUnavailable] = []

        def shown(work: Work, line: ProgressLine | None) -> dict[str, Any]:
            tell = work.write_progress

            def tell_both(progress: dict[str, Any]) -> bool:
                if line is not None:
                    line.show(progress["done"], progress["total"])
                return tell(progress)

            work.write_progress = tell_both
            try:
                return HANDLERS[job.kind](work)
            except StorageUnavailable as error:
                unavailable.append(error)
                raise

        with ExitStack() as stack:
            line = stack.enter_context(ProgressLine(WHAT[job.kind])) if job.kind in WHAT else None
            worker = OrganizerWorker(
                self._here.settings,
                self._here.database,
                self._here.storage,
                handlers={job.kind: partial(shown, line=line)},
            )
            is_done = worker.run(job.id)
        if unavailable:
            raise unavailable[0]
        return is_done

    def _score(self, version: ScoringVersion) -> bool:
        if self._child is None:
            self._child = self._stack.enter_context(closing(JobChild(self._here.settings)))
        is_done = False
        with ProgressLine("submissions scored") as line:
            while self._child.rescore(version.id):
                is_done = True
                self._show(version, line)
            if is_done:
                self._show(version, line)
        return is_done

    def _show(self, version: ScoringVersion, line: ProgressLine) -> None:
        with self._here.database.read() as session:
            progress = preparation.progress(session, scoring_version_id=version.id)
        line.show(progress.finished, progress.total)
