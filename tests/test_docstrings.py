"""Examples in docstrings of the pure packages, run as doctests."""

import doctest
import importlib
import inspect
import pkgutil
from typing import Any

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
# Their packages are not in this environment. tests/integrations/test_real_packages.py runs their examples.
ELSEWHERE = {"fairboard.evaluate", "fairboard.inspect_ai"}


def names_of_modules() -> list[str]:
    found = list(MODULES)
    for name in PACKAGES:
        package = importlib.import_module(name)
        found += [name, *(each.name for each in pkgutil.walk_packages(package.__path__, f"{name}."))]
    return [name for name in found if name not in ELSEWHERE]


@pytest.mark.parametrize("name", names_of_modules())
def test_examples_in_docstrings_are_correct(name: str):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0


def has_example(value: Any) -> bool:
    return bool(doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""))


def test_every_public_function_and_class_has_an_example():
    public = {name: getattr(fairboard, name) for name in fairboard.__all__}
    documented = {
        name: each for name, each in public.items() if inspect.isfunction(each) or inspect.isclass(each)
    }
    assert len(documented) > 15
    assert [name for name, each in documented.items() if not has_example(each)] == []
