"""Times that people and programs enter, in UTC."""

from datetime import UTC, datetime


def utc(time: datetime) -> datetime:
    """Return an entered time in UTC, the zone of a time without one; raise ValueError beyond the calendar."""
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise ValueError("must lie in the years 1 to 9999 of UTC") from None
