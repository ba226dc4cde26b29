"""Parts of a running site (database, storage, queue), and access to them from a request."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from flask import current_app

from grader.db import Database
from grader.services.accounts.passwords import BoundedHasher
from grader.services.data_files.archive import Checksums
from grader.services.submissions.histograms import Histograms
from grader.settings import Settings
from grader.storage.stores import Storage
from grader.worker.children.checker import Checker
from grader.worker.children.formatter import Formatter
from webapp.http.frontiers import Frontiers
from webapp.http.preview_cache import Differences
from webapp.http.waits import Waits


class Hinting(Protocol):
    """Sends hints about waiting jobs to the workers; it may lose a hint and never raises."""

    def send(self, job_ids: Sequence[int]) -> None:
        """Hint these jobs to the queue."""

    def send_rescoring(self, scoring_version_id: int) -> None:
        """Hint a scoring version that is being prepared to its own queue."""


@dataclass(frozen=True, slots=True)
class Shell:
    """A command on the operator's machine, which asks an application of its own in the same process.

    It may do everything, under the name of the shell, or as the person whom it names.
    """

    acts_as: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """The parts that the requests of one process share.

    `shell` is set in an application that one command made for itself. No such application listens anywhere:
    nothing that a request holds makes it one of the shell.
    """

    settings: Settings
    database: Database
    storage: Storage
    histograms: Histograms
    checksums: Checksums
    hints: Hinting
    checker: Checker
    formatter: Formatter
    passwords: BoundedHasher
    waits: Waits
    shell: Shell | None = None
    differences: Differences = field(default_factory=Differences)
    frontiers: Frontiers = field(default_factory=Frontiers)

    @property
    def is_https(self) -> bool:
        """Whether the public address of the site is https, which makes every cookie `Secure`."""
        return (self.settings.base_url or "").startswith("https://")


def current_site() -> Site:
    """Return the site of the current request."""
    return cast(Site, current_app.extensions["fairboard"])
