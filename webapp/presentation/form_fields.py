"""Form fields: parsed texts, checkboxes, and UTC dates with times."""

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any

from flask import request
from flask_wtf import FlaskForm
from wtforms import BooleanField, Field, StringField
from wtforms.utils import unset_value

from grader.text import utc

LAST_MINUTE = time(23, 59)


class SiteForm(FlaskForm):
    """A form without its own CSRF token, because the site checks every form."""

    class Meta(FlaskForm.Meta):
        """Options of the form library."""

        csrf = False


class TextEntry(StringField):
    """A text field with a parser that raises ValueError; the value of an optional blank field is None."""

    def __init__(
        self,
        label: str,
        read: Callable[[str], Any] = str,
        show: Callable[[Any], str] = str,
        *,
        is_optional: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(label, **options)
        self._read, self._show, self._is_optional = read, show, is_optional

    def process_formdata(self, valuelist: list[str]) -> None:
        """Parse the entered text, unless it is the text that the form shows for the stored value."""
        entered = "".join(valuelist[:1])
        # Browsers send each line break as CR LF.
        stored: Any = self.object_data
        if stored is not None and entered.splitlines() == self._show(stored).splitlines():
            return
        text = entered.strip()
        try:
            self.data = None if self._is_optional and not text else self._read(text)
        except ValueError as error:
            raise ValueError(f"{self.label.text}{error}") from None

    def _value(self) -> str:
        if self.raw_data is not None:
            return "".join(self.raw_data[:1])
        return "" if self.data is None else self._show(self.data)


class TickBox(BooleanField):
    """A check box with the value `yes`."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, **options | {"render_kw": {"value": "yes"}})

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read whether the box was ticked."""
        self.data = valuelist[:1] == ["yes"]


class MomentField(Field):
    """Two inputs, `<name>_date` and `<name>_time`; the value is None if no date is entered."""

    data: datetime | None

    def __init__(self, label: str, *, day: time = LAST_MINUTE, **options: Any) -> None:
        super().__init__(label, **options)
        self._day = f"{day:%H:%M}"

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        """Read the default, or both inputs of the request."""
        super().process(None, data, extra_filters)
        chosen: datetime | None = self.data
        self.date = f"{chosen:%Y-%m-%d}" if chosen else ""
        self.time = f"{chosen:%H:%M}" if chosen else self._day
        if formdata is not None:
            self.date, self.time = (formdata.get(f"{self.name}_{part}", "") for part in ("date", "time"))
            try:
                self.data = entered = _moment(self.date, self.time or self._day)
            except ValueError:
                self.process_errors.append(
                    f"{self.label.text}: enter a date such as 2026-12-31 and a time such as 23:59, not "
                    f"{self.date!r} and {self.time!r}."
                )
                return
            # The inputs show no seconds, so the same minute is the stored time of day.
            if chosen and entered and entered.time() == chosen.time().replace(second=0, microsecond=0):
                self.data = datetime.combine(entered, chosen.timetz())


def entered_moment(name: str) -> datetime | str | None:
    """Return the time in a field, or in `<name>_date` and `<name>_time`; an invalid one as text."""
    text, day, time_of_day = (request.form.get(f"{name}{part}", "") for part in ("", "_date", "_time"))
    try:
        return utc(datetime.fromisoformat(text)) if text else _moment(day, time_of_day)
    except ValueError:
        return text or f"{day} {time_of_day}"


def _moment(date: str, time_of_day: str) -> datetime | None:
    if not date.strip():
        return None
    text = f"{date.strip()}T{time_of_day.strip() or f'{LAST_MINUTE:%H:%M}'}"
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
