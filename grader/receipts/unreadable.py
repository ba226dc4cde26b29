"""A file that the recount cannot read."""

from grader.errors import OrganizerError


class UnreadableFile(OrganizerError):
    """A file does not hold what it should; the message says what, and where."""
