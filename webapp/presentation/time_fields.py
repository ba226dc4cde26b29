"""Read a date and a time (UTC) from a form."""

from datetime import UTC, datetime

from flask import request

from grader.errors import OrganizerError

LAST_MINUTE = "23:59"


class InvalidMoment(OrganizerError):
    """A date or a time of day that is none."""

    public_name = "invalid_moment"

    def __init__(self) -> None:
        super().__init__("Give the new closing date as a date (2026-03-14) and a time (23:59) in UTC.")


def moment(name: str) -> datetime | None:
    """Return the moment of the fields `<name>_date` and `<name>_time`, None without a date.

    Raises InvalidMoment.
    """
    date = request.form.get(f"{name}_date", "").strip()
    if not date:
        return None
    time = request.form.get(f"{name}_time", "").strip() or LAST_MINUTE
    try:
        return datetime.fromisoformat(f"{date}T{time}").replace(tzinfo=UTC)
    except ValueError:
        raise InvalidMoment from None
