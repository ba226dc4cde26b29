"""View of a team's submissions left, today and in all, and the countdown to the next upload."""

from dataclasses import dataclass
from datetime import UTC, datetime

from grader.models import Competition
from grader.services.limits.limits import Allowance


class AllowanceView:
    """The limits of a competition and what a team has left of them."""

    def __init__(self, allowance: Allowance) -> None:
        self.max_daily = allowance.max_daily
        self.max_total = allowance.max_total
        self.granted_today = allowance.granted_today if allowance.max_daily is not None else 0
        self.left = allowance.left
        self.left_today = allowance.left_today
        self.left_total = allowance.left_total
        self.resets_at = allowance.resets_at
        # With nothing left in all, the next day brings nothing.
        self.next_day_helps = allowance.left_today is not None and allowance.left_total != allowance.left


@dataclass(frozen=True, slots=True)
class Clock:
    """The server's clock beside the deadline, both to the second."""

    now: datetime
    deadline: datetime | None

    @classmethod
    def of(cls, competition: Competition, now: datetime) -> "Clock":
        """Return the clock of a competition's submit page."""
        return cls(now, competition.closes_at)

    @property
    def now_text(self) -> str:
        """`23:41:07 UTC`."""
        return f"{self.now.astimezone(UTC):%H:%M:%S} UTC"

    @property
    def deadline_text(self) -> str:
        """`23:59:00 UTC`, with its date unless that is today."""
        if self.deadline is None:
            return ""
        deadline, now = self.deadline.astimezone(UTC), self.now.astimezone(UTC)
        date = "" if deadline.date() == now.date() else f"{deadline.day} {deadline:%b %Y}, "
        return f"{date}{deadline:%H:%M:%S} UTC"
