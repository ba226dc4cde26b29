"""Organizers' uploads (pages and API): data file, figure, solution, baseline."""

from typing import Any

from flask import g, request
from werkzeug.datastructures import FileStorage

from grader.errors import ErrorKind
from grader.models import OrganizerJob
from grader.services.data_files import files as data_files
from grader.services.figures import figures
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import UploadedFile
from grader.services.submissions import benchmark_entries
from grader.services.submissions.accepting import NewSubmission
from grader.storage import blobs
from webapp.competitions import prose
from webapp.http.context import act_on, competition_of, is_shell, reading, writing
from webapp.http.errors import BadRequest
from webapp.http.site import current_site
from webapp.submissions import uploads


class BaselineRefused(BadRequest):
    """A baseline file with problems; the message lists all of them."""

    public_name = "baseline_refused"
    kind = ErrorKind.MISMATCH

    def __init__(self, problems: list[dict[str, Any]]) -> None:
        self.problems = problems
        super().__init__(" ".join(problem["message"] for problem in problems))

    @property
    def details(self) -> dict[str, object]:
        """All problems, in the format of a file check."""
        return {"problems": self.problems}


def add_data_file(slug: str) -> str:
    """Store the data file of this request, replacing one with the same name; return its name."""
    site = current_site()
    file = uploads.received_file()
    name = data_files.checked_name(file.filename or "")
    blob = site.storage.put(file.stream)
    with writing() as session:
        blobs.hold(session, storage=site.storage, sha256=blob.sha256)
        data_files.add(
            **act_on(session, slug).parts,
            name=name,
            description=request.values.get("description", ""),
            blob=blob,
        )
    return name


def add_figure(slug: str, file: FileStorage | None) -> str:
    """Store a figure, replacing one with the same name; return its name. Raises InvalidFigure."""
    if file is None or not file.filename:
        raise figures.InvalidFigure("No picture was sent. Choose a PNG, JPEG or WebP file.")
    site = current_site()
    data = file.stream.read(figures.MAX_BYTES + 1)
    name, picture = figures.checked(file.filename or "", data)
    blob = site.storage.put(data)
    with writing() as session:
        blobs.hold(session, storage=site.storage, sha256=blob.sha256)
        figures.add(
            **act_on(session, slug).parts,
            name=name,
            picture=picture,
            blob=blob,
        )
    prose.format_saved(slug)
    return name


def add_solution(slug: str) -> OrganizerJob:
    """Store the solution in the request, and test.csv if included; return the job that checks it."""
    site = current_site()
    file = uploads.received_file()
    sent = UploadedFile.of(file.filename or "", site.storage.put(file.stream))
    test_file = request.files.get("test")
    test = None
    if test_file is not None and test_file.filename:
        test = UploadedFile.of(test_file.filename, site.storage.put(test_file.stream))
    with writing() as session:
        for each in filter(None, (sent, test)):
            blobs.hold(session, storage=site.storage, sha256=each.sha256)
        return check_jobs.add(
            **act_on(session, slug).parts,
            file=sent,
            test=test,
            finds_test=request.values.get("finds_test", "") != "false",
        )


def add_baseline(slug: str) -> NewSubmission:
    """Add the predictions of this request as a benchmark; raise BaselineRefused."""
    site = current_site()
    with reading() as session:
        competition = competition_of(session, slug)
    sent = uploads.arrived()
    # Files from the operator's shell skip this check, because the shell starts no process for it. They are
    # still scored.
    checked = None if is_shell() else uploads.check_if_free(competition, sent)
    if checked is not None and checked.problems:
        raise BaselineRefused(checked.problems)
    sent.stream.seek(0)
    blob = site.storage.put(sent.stream)
    with writing() as session:
        blobs.hold(session, storage=site.storage, sha256=blob.sha256)
        entered = benchmark_entries.add(
            **act_on(session, slug).parts,
            blob=blob,
            file_name=sent.file_name,
            name=request.values.get("name", ""),
            user=g.user or benchmark_entries.first_organizer(session, competition=competition),
        )
    site.hints.send(entered.job_ids)
    return entered
