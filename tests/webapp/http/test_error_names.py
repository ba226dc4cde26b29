"""The public names of errors and their statuses, which programs rely on: renaming a class changes neither."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import grader
import webapp
from grader.errors import FairboardError
from webapp.http.errors import STATUSES

PINNED = Path(__file__).parent / "error_names.txt"
PROGRAMS = (".__main__", ".wsgi")  # importing them starts something


def kinds_of_errors() -> list[type[FairboardError]]:
    for package in (grader, webapp):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(PROGRAMS):
                importlib.import_module(module.name)
    return [kind for kind in below(FairboardError) if kind.__module__.split(".")[0] in ("grader", "webapp")]


def below(kind: type[FairboardError]) -> Iterator[type[FairboardError]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_every_error_names_itself_and_does_not_inherit_its_name() -> None:
    assert [kind.__qualname__ for kind in kinds_of_errors() if "public_name" not in vars(kind)] == []


def test_public_names_and_statuses_are_those_that_programs_know() -> None:
    """A new error adds its line to the file; a line that changes or goes breaks somebody's program."""
    lines = sorted({f"{kind.public_name} {STATUSES[kind.kind]}" for kind in kinds_of_errors()})
    assert lines == PINNED.read_text().splitlines()
