"""Strict pydantic models for JSON columns."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field


class StoredJson(BaseModel):
    """The content of a JSON column; missing or unknown keys and wrong types are rejected.

    Errors do not show the value, which may be secret.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Parse the output of `as_dict`; raise ValidationError."""
        return cls.model_validate(data)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return self.model_dump(mode="json")


# JSON has no tuples.
StoredNames = Annotated[tuple[str, ...], Field(strict=False)]
