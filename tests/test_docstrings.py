"""Names of classes, and examples in docstrings of the pure packages, run as doctests."""

import doctest
import importlib
import inspect
import pkgutil
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

import fairboard

PACKAGES = (
    "fairboard",
    "grader.metrics",
    "grader.files",
    "grader.ranking",
    "grader.charts",
    "grader.receipts",
)
MODULES = ("grader.kaggle",)

PRODUCT = ("grader", "webapp", "fairboard")
ROOT = Path(fairboard.__file__).parent.parent
# The client's records and the API's schemas are named as the objects that they show. A solution is both the
# content of a file and a row of the database.
TWO_CLASSES = {"Competition", "DataFile", "Limits", "Organizer", "Question", "Solution", "Submission", "Team"}


def names_of_modules():
    found = list(MODULES)
    for name in PACKAGES:
        package = importlib.import_module(name)
        found += [name, *(each.name for each in pkgutil.walk_packages(package.__path__, f"{name}."))]
    return found


@pytest.mark.parametrize("name", names_of_modules())
def test_examples_in_docstrings_are_correct(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def has_example(value):
    return bool(doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""))


def test_every_public_function_and_class_has_an_example():
    public = {name: getattr(fairboard, name) for name in fairboard.__all__}
    documented = {
        name: each for name, each in public.items() if inspect.isfunction(each) or inspect.isclass(each)
    }
    assert len(documented) > 15
    assert [name for name, each in documented.items() if not has_example(each)] == []


def test_no_two_classes_have_one_name():
    files = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    names = [re.findall(r"^ *class (\w+)[(:]", path.read_text(), re.MULTILINE) for path in files]
    assert sum(map(len, names)) > 500
    assert {name for name, count in Counter(chain(*names)).items() if count > 1} <= TWO_CLASSES
