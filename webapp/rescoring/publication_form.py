"""Form to publish a scoring version: reason, message, extra submissions, new deadlines."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Self

from flask import request

from grader.services.rescoring.compensation import Amends, InvalidPublication

MAX_EXTRA = 1_000
FIELDS = ("reason", "notice", "extra_submissions", "extra_day", "closes_at", "selection_deadline")


@dataclass(frozen=True, slots=True)
class PublishForm:
    """What was entered into the form of a publication, as text."""

    reason: str = ""
    notice: str = ""
    extra_submissions: str = ""
    extra_day: str = ""
    closes_at: str = ""
    selection_deadline: str = ""
    lose_scores: bool = False

    @classmethod
    def entered(cls) -> Self:
        """Return what this request holds."""
        texts = {name: request.form.get(name, "") for name in FIELDS}
        return cls(**texts, lose_scores=request.form.get("lose_scores") == "yes")

    def amends(self) -> Amends:
        """Return what the publication is to give; raise InvalidPublication with all that cannot be read."""
        values: dict[str, Any] = {}
        problems = []
        for name, words, read in (
            ("extra_submissions", "The number of extra submissions", _count),
            ("extra_day", "The day of the extra submissions", date.fromisoformat),
            ("closes_at", "The new closing date", _moment),
            ("selection_deadline", "The end of the final selection", _moment),
        ):
            text = getattr(self, name).strip()
            try:
                values[name] = read(text) if text else None
            except ValueError:
                problems.append(f"{words} cannot be read: {text[:40]!r}.")
        if problems:
            raise InvalidPublication(problems)
        return Amends(notice=self.notice, **values | {"extra_submissions": values["extra_submissions"] or 0})


def _count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= MAX_EXTRA:
        raise ValueError(text)
    return count


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
