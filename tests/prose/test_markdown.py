"""Organizers' Markdown as HTML: formulas, figures, reported problems, safety."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.prose import markdown
from grader.prose.drawn import FigureSource

USUAL = (
    "p h1 h2 h3 h4 h5 h6 code pre em strong a img figure figcaption br hr ul ol li blockquote table th td tr"
)
TAGS = {*re.findall(r"\w+", USUAL), "thead", "tbody", "div", *markdown.FORMULA_TAGS}
PLOT = FigureSource("plot.png", "/competitions/x/figures/plot.png?version=1", 640, 480)


def html(text):
    return str(markdown.drawn(text, (PLOT,)).html)


def test_formulas_become_inline_and_block_mathml():
    assert html("So $x^2$.") == "<p>So <math><msup><mi>x</mi><mn>2</mn></msup></math>.</p>\n"
    block = html("$$\n\\frac{1}{N}\\sum_i m_i^p\n$$")
    assert block.startswith(
        '<div role="group" aria-label="Formula" tabindex="0"><math display="block"><mfrac>'
    )


def test_money_and_code_are_no_formulas():
    for text in ("It costs $5 and $10.", r"\$x\$", "`$x$`"):
        assert "<math" not in html(text)
        assert markdown.drawn(text).faults == ()


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (r"\frac{1}", "reached end of input"),
        (r"\foo{x}", r'Unknown command "\foo"'),
        (r"\left( x", r"\right"),
        (r"\href{javascript:alert(1)}{x}", "Unknown command"),
        ("{" * 40 + "x" + "}" * 40, "nested at most 30 deep"),
        ("x+" * 600 + "x", "at most 1,000 characters"),
    ],
)
def test_invalid_formula_is_reported_and_shown_as_source(formula, reason):
    drawn = markdown.drawn(f"Here: ${formula}$")
    [fault] = drawn.faults
    assert formula[:40] in fault and reason in fault
    assert "<code>" in drawn.html and "<math" not in drawn.html


def test_figure_in_its_own_paragraph_has_a_caption():
    picture = '<img src="/competitions/x/figures/plot.png?version=1" alt="A plot" width="640" height="480">'
    shown = html('![A plot](plot.png "Scores & time")')
    assert shown == f"<figure>{picture}<figcaption>Scores &amp; time</figcaption></figure>\n"
    assert html("![A plot](plot.png)") == f"<figure>{picture}</figure>\n"
    assert f"<figure>{picture}<figcaption>Scores</figcaption></figure>" in html(
        '- ![A plot](plot.png "Scores")'
    )
    assert html("See ![A plot](plot.png).") == f"<p>See {picture}.</p>\n"


@pytest.mark.parametrize(
    "source", ["https://evil.example/a.png", "other.png", "//x/plot.png", "data:image/png,x"]
)
def test_picture_that_is_no_uploaded_figure_is_omitted_and_reported(source):
    drawn = markdown.drawn(f"![What it is]({source})", (PLOT,))
    assert "<img" not in drawn.html and "What it is" in drawn.html
    assert len(drawn.faults) == (0 if source.startswith("data:") else 1)


ACTIVE = (
    *("<script>alert(1)</script>", "<img/src=x/onerror=y>", "[x](javascript:1)", "\\href{javascript:1}{x}"),
    *("<math><mi//href='data:'>", "](plot.png", "\\text{"),
)
PIECES = st.sampled_from((*ACTIVE, *"$})x|`\\#\n", "$$", "!["))


@given(st.lists(PIECES, max_size=25).map("".join))
def test_no_input_produces_active_content(text):
    shown = html(text)
    tags = re.findall(r"<([a-z]\w*)([^>]*)>", shown)
    assert {tag for tag, _ in tags} <= TAGS
    for _, attributes in tags:
        names = re.findall(r'([\w:-]+)="', attributes)
        assert not [
            name for name in names if name.startswith("on") or name in ("style", "xlink:href", "class")
        ]
        assert "javascript:" not in attributes
