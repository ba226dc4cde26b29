"""Public error names and their values."""

import ast
import importlib
import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import grader
import webapp
from grader.errors import ErrorKind, FairboardError, OrganizerError, ParticipantError

PROGRAMS = (".__main__", ".wsgi")  # Importing these modules starts a process.


@cache
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


def test_every_error_declares_its_own_public_name():
    assert [kind.__qualname__ for kind in kinds_of_errors() if "public_name" not in vars(kind)] == []


@cache
def source(kind: type[FairboardError]) -> str:
    """Return the source of an error and of its base classes below FairboardError."""
    return "".join(inspect.getsource(each) for each in kind.__mro__[: kind.__mro__.index(FairboardError)])


def test_every_temporary_error_has_a_retry_after():
    passing = [kind for kind in kinds_of_errors() if kind.kind in (ErrorKind.NOT_YET, ErrorKind.LIMITED)]
    passing += [kind for kind in kinds_of_errors() if "Try again in" in source(kind)]
    of_the_site = [kind for kind in passing if not kind.__module__.startswith("grader.client")]
    assert len(of_the_site) > 10
    assert [kind.__qualname__ for kind in of_the_site if "retry_after = " not in source(kind)] == []


def test_every_error_with_several_problems_lists_them_in_its_details():
    told = [kind for kind in kinds_of_errors() if issubclass(kind, ParticipantError | OrganizerError)]
    several = [kind for kind in told if "self.problems = " in source(kind) or "faults" in source(kind)]
    assert len(several) > 8
    assert [kind.__qualname__ for kind in several if kind.details is FairboardError.details] == []


def values(kind: type[FairboardError]) -> set[str]:
    """Return the placeholder names in the message that a class declares."""
    fields = (field for _, field, _, _ in Formatter().parse(getattr(kind, "message", "")) if field)
    return {field.split(".")[0] for field in fields}


def raised(root: Path) -> Iterator[tuple[str, set[str | None]]]:
    """Yield the names and keywords of classes called with only keywords, or raised without a call."""
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(ast.Name(name) | ast.Attribute(attr=name), [], keywords):
                    yield name, {each.arg for each in keywords}
                case ast.Raise(ast.Name(name) | ast.Attribute(attr=name)):
                    yield name, set()


def test_every_error_is_raised_with_the_values_of_its_message():
    expected = defaultdict[str, list[set[str]]](list)
    for kind in kinds_of_errors():
        if kind.__init__ is FairboardError.__init__:
            expected[kind.__name__].append(values(kind))
    roots = [Path(package.__path__[0]) for package in (grader, webapp)]
    found = [(name, given) for root in roots for name, given in raised(root) if name in expected]
    assert len(found) > 150
    assert [(name, given) for name, given in found if given not in expected[name]] == []
