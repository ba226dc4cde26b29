"""Plots in docs/bias-metrics.md, compared with the output of the generating program."""

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[4] / "docs"


@pytest.fixture(scope="module")
def plots():
    spec = importlib.util.spec_from_file_location("plots", DOCS / "plots.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PLOTS


def test_plots_in_the_docs_are_up_to_date(plots):
    assert {name: (DOCS / "images" / name).read_text() for name in plots} == plots


def test_every_plot_is_a_titled_image_that_the_docs_show(plots):
    page = (DOCS / "bias-metrics.md").read_text()
    for name, svg in plots.items():
        image = ElementTree.fromstring(svg)
        assert image.get("role") == "img"
        assert image.find("{http://www.w3.org/2000/svg}title").text == image.get("aria-label")
        assert f"(images/{name})" in page
