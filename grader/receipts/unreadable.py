"""Error: a file that the second implementation cannot read."""

from grader.errors import OrganizerError

SHOWN = 80


class UnreadableFile(OrganizerError):
    """A file does not hold what it should; the message says what, and where."""

    public_name = "unreadable_file"


def shown(text: str) -> str:
    """Return a text as a message shows it: quoted, and cut where it is long."""
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}…"
