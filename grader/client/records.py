"""API objects whose fields are also attributes, and their tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

Json = Mapping[str, Any]


class ApiRecord(dict[str, Any]):
    """An API object whose fields are also attributes; fields that end in ``_at`` are times."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"This object has no field {name!r}, but {', '.join(self)}.")
        return _typed(name, self[name])


def _typed(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return ApiRecord(value)
    if isinstance(value, list):
        return [_typed(name, each) for each in value]
    return datetime.fromisoformat(value) if name.endswith("_at") and isinstance(value, str) else value


class Submission(ApiRecord):
    """A submission, with everything that the token's owner may currently see."""

    @property
    def is_final(self) -> bool:
        """Whether the status is scored, rejected or failed."""
        return bool(self["status"] != "pending")

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row per identity or group, including private values after the reveal."""
        rows: list[Json] = []
        for split, prefix in (("public", ""), ("private", "private_")):
            rows += [{"split": split, **each} for each in self.get(f"{prefix}identities") or ()]
            for table in self.get(f"{prefix}groups") or ():
                rows += [{"split": split, "column": table["column"], **each} for each in table["groups"]]
        return _frame(rows)


class Submissions(ApiRecord):
    """The submissions of your team, newest first, with its limits and selection."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row for each submission."""
        return _frame(self["submissions"])


class Leaderboard(ApiRecord):
    """A leaderboard, or its first rows; `own` is your team's row if it is not on the first page."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a table of the rows, with a column for each term."""
        rows = [{**row, **(row["terms"] or {})} for row in self["rows"]]
        return _frame([{name: cell for name, cell in row.items() if name != "terms"} for row in rows])


def _frame(rows: Sequence[Json]) -> "pd.DataFrame":
    import pandas as pd

    frame = pd.DataFrame(list(rows))
    for name in frame.columns:
        if name.endswith("_at"):
            frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    return frame
