"""Organizers' uploads (pages and API): storage of data files, figures, solutions and baselines."""

from dataclasses import dataclass
from typing import Any, Self

from flask import g, request

from grader.errors import ErrorKind, Refusal
from grader.metrics.python_metric import MOST_SOURCE_BYTES, MetricSource, UnsuitableSource
from grader.services.competitions import figures
from grader.services.competitions.acting import Act
from grader.services.competitions.figures import Picture
from grader.services.rescoring import metric_files
from grader.services.solutions import data_files
from grader.storage import blobs
from grader.storage.stores import StoredBlob
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.submissions import uploads


@dataclass(frozen=True, slots=True)
class NamedBlob:
    """A stored file and its name, not yet recorded in the database."""

    name: str
    blob: StoredBlob

    @classmethod
    def store(cls, name: str, content: Any) -> Self:
        """Store a file."""
        return cls(name, current_site().storage.put(content))

    def hold(self, act: Act) -> None:
        """Keep the stored file until the transaction has recorded it."""
        blobs.hold(act.session, storage=current_site().storage, sha256=self.blob.sha256)


def data_file(**_: Any) -> NamedBlob:
    """Store the data file of this request."""
    file = uploads.received_file()
    return NamedBlob.store(data_files.checked_name(file.filename or ""), file.stream)


def figure(**_: Any) -> tuple[NamedBlob, Picture]:
    """Check and store the figure of this request; raise OrganizerRefusal."""
    file = uploads.received_file()
    content = file.stream.read(figures.MAX_BYTES + 1)
    name, picture = figures.checked(file.filename or "", content)
    return NamedBlob.store(name, content), picture


def solution(**_: Any) -> list[NamedBlob]:
    """Store the solution of this request, and test.csv if included."""
    files = [uploads.received_file(), request.files.get("test")]
    return [NamedBlob.store(file.filename, file.stream) for file in files if file and file.filename]


def may_upload_metrics() -> bool:
    """Return whether the page offers the upload of a metric.py."""
    allowed = current_site().settings.host_metrics
    return metric_files.is_allowed(allowed, is_administrator=g.user.is_admin)


def metric_file(**_: Any) -> list[NamedBlob]:
    """Check and store the metric.py of this request, and its sample submission if included."""
    metric_files.require_allowed(current_site().settings.host_metrics, is_administrator=g.user.is_admin)
    content = uploads.received_file().stream.read(MOST_SOURCE_BYTES + 1)
    try:
        source = MetricSource.of(content)
    except UnsuitableSource as error:
        raise metric_files.refused(str(error)) from error
    stored = [NamedBlob.store("metric.py", source.text.encode())]
    sample = request.files.get("sample")
    if sample is not None and sample.filename:
        stored.append(NamedBlob.store(sample.filename, sample.stream))
    return stored


def baseline(slug: str) -> NamedBlob:
    """Check and store the predictions of this request; raise Refusal."""
    with reading() as session:
        competition = competition_of(session, slug)
    sent = uploads.arrived()
    checked = uploads.check(competition, sent)
    if checked is not None and checked.problems:
        raise Refusal("baseline_refused", ErrorKind.MISMATCH, problems=checked.problems)
    sent.stream.seek(0)
    return NamedBlob.store(sent.file_name, sent.stream)
