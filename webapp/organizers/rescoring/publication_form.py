"""Form to publish a scoring version: reason, message, extra submissions, new deadlines."""

from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from wtforms import TextAreaField
from wtforms.widgets import DateInput, DateTimeLocalInput, NumberInput

from grader.services.rescoring.publication import Amends, InvalidPublication
from grader.text import utc
from webapp.presentation.form_fields import Entry, SiteForm, TickBox

MAX_EXTRA = 1_000


def _count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= MAX_EXTRA:
        raise ValueError(text)
    return count


def _moment(text: str) -> datetime:
    return utc(datetime.fromisoformat(text))


def _entry(label: str, read: Callable[[str], Any], widget: Any) -> Any:
    def read_or_refuse(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            raise ValueError(f" cannot be read: {text[:40]!r}.") from None

    return Entry(label, read_or_refuse, is_optional=True, widget=widget)


class PublishForm(SiteForm):
    """What a publication gives and says."""

    reason = TextAreaField(default="")
    notice = TextAreaField(default="")
    extra_submissions = _entry(
        "The number of extra submissions", _count, NumberInput(min=0, max=MAX_EXTRA, step=1)
    )
    extra_day = _entry("The day of the extra submissions", date.fromisoformat, DateInput())
    closes_at = _entry("The new closing date", _moment, DateTimeLocalInput())
    selection_deadline = _entry("The end of the final selection", _moment, DateTimeLocalInput())
    lose_scores = TickBox()

    def amends(self) -> Amends:
        """Return what the publication is to give; raise InvalidPublication with all that cannot be read."""
        if not self.validate():
            raise InvalidPublication(problem for field in self for problem in field.errors)
        return Amends(
            notice=self.notice.data,
            extra_submissions=self.extra_submissions.data or 0,
            extra_day=self.extra_day.data,
            closes_at=self.closes_at.data,
            selection_deadline=self.selection_deadline.data,
        )
