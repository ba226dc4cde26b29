"""Public error names, and the number of error classes."""

import ast
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import grader
import webapp
from grader.errors import ErrorKind, FairboardError

PROGRAMS = (".__main__", ".wsgi")  # Importing these modules starts a process.
MOST_CLASSES = 116
PASSING = ("NOT_YET", "LIMITED")


@cache
def classes():
    for package in (grader, webapp):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(PROGRAMS):
                importlib.import_module(module.name)
    return [each for each in below(FairboardError) if each.__module__.split(".")[0] in ("grader", "webapp")]


def below(kind):
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def refusals():
    """Yield the calls that create errors without a class of their own."""
    for package in (grader, webapp):
        for path in Path(package.__path__[0]).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Refusal"):
                    yield node


def test_a_class_of_errors_is_the_exception():
    assert len(set(classes())) <= MOST_CLASSES


def test_every_temporary_error_has_a_retry_after():
    temporary = [each for each in classes() if each.kind in (ErrorKind.NOT_YET, ErrorKind.LIMITED)]
    ours = [each for each in temporary if not each.__module__.startswith("grader.client")]
    assert [each.__qualname__ for each in ours if "retry_after = " not in source(each)] == []
    calls = [
        each for each in refusals() if len(each.args) > 1 and ast.unparse(each.args[1]).endswith(PASSING)
    ]
    assert [ast.unparse(each) for each in calls if "retry_after" not in {k.arg for k in each.keywords}] == []


def source(kind):
    """Return the source of an error and of its base classes below FairboardError."""
    return "".join(inspect.getsource(each) for each in kind.__mro__[: kind.__mro__.index(FairboardError)])
