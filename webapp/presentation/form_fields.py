"""Form fields: conversion of entered values for a pydantic model."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, get_args

from flask import request
from pydantic import BaseModel

from grader.text import utc
from webapp.http.fields import FileForm, is_list


def entered(takes: type[BaseModel]) -> dict[str, Any]:
    """Return the form's fields by name, not validated.

    Missing required texts are empty; other missing fields are absent.
    """
    if issubclass(takes, FileForm):  # the file is read before; the other fields may be query parameters
        sent = request.values
        return {"file": None} | {name: sent[name] for name in takes.model_fields if name in sent}
    found: dict[str, Any] = {}
    for name, field in takes.model_fields.items():
        kinds = list(_kinds(field.annotation))
        text = request.form.get(name, "")
        if bool in kinds:
            found[name] = text == "yes"
        elif is_list(field.annotation):
            found[name] = request.form.getlist(name)
        elif datetime in kinds:
            found[name] = entered_moment(name)
        elif text or (int not in kinds and str in kinds and (field.is_required() or name in request.form)):
            found[name] = text
    return {name: value for name, value in found.items() if value is not None}


def _kinds(annotation: Any) -> Iterator[Any]:
    """Return the types in an annotation such as `Annotated[int, …] | None`."""
    yield annotation
    for each in get_args(annotation):
        yield from _kinds(each)


def entered_moment(name: str) -> datetime | str | None:
    """Return the time in a field, or its text if it is invalid."""
    text = request.form.get(name, "")
    try:
        return utc(datetime.fromisoformat(text)) if text else None
    except ValueError:
        return text
