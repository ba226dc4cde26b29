"""View of the data files' leak checks for the organizers' data page."""

from collections.abc import Collection, Sequence
from typing import Any

from grader.models import DataCheckState, DataFile, OrganizerJob
from grader.services.data_files import findings
from grader.services.jobs import organizer_jobs

WORDS = {
    DataCheckState.UNCHECKED: ("not checked", "pending"),
    DataCheckState.WAITING: ("waiting for its check", "pending"),
    DataCheckState.PASSED: ("checked", "scored"),
    DataCheckState.HELD: ("held back", "failed"),
    DataCheckState.ALLOWED: ("released anyway", "pending"),
}


SHOWN_SENTENCES = 6


class FileCheckView:
    """The result of a data file's check."""

    def __init__(self, file: DataFile, *, is_waiting: bool) -> None:
        self.name = file.name
        self.found = findings.found_in(file)
        sentences = self.found.sentences
        self.first, self.others = sentences[:SHOWN_SENTENCES], sentences[SHOWN_SENTENCES:]
        self.words, self.pill = WORDS[file.check_state]
        if is_waiting and file.check_state is not DataCheckState.WAITING:
            self.words += ", being checked again" if file.findings else ", is being checked"
        self.is_held = file.check_state is DataCheckState.HELD
        is_unopened = file.check_state is DataCheckState.UNCHECKED and bool(self.found.unopened)
        self.needs_word = not is_waiting and (self.is_held or is_unopened)
        self.rows = file.findings.get("rows", 0)
        self.state = file.check_state.value


class ChecksView:
    """The checks of all files of a competition, by name, and how far the job is."""

    def __init__(
        self, files: Sequence[DataFile], job: OrganizerJob | None, *, waiting: Collection[str]
    ) -> None:
        self.of = {file.name: FileCheckView(file, is_waiting=file.name in waiting) for file in files}
        self.is_live = job is not None and organizer_jobs.is_open(job)
        progress = job.progress if job is not None and self.is_live else {}
        self.doing = progress.get("words", "Waiting for a worker")
        self.done, self.total = progress.get("done", 0), progress.get("total", 0)

    def live(self) -> dict[str, Any]:
        """Return what the page follows."""
        return {
            "is_final": not self.is_live,
            "doing": self.doing,
            "done": self.done,
            "files": {name: view.state for name, view in self.of.items()},
        }
