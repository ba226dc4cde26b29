"""Formulas in organizers' texts: LaTeX between dollar signs as MathML, and what is wrong with one."""

import re
from functools import cache
from typing import Any, NamedTuple

MAX_LENGTH = 1000  # the converter calls itself for each level: a thread's stack must hold the deepest formula
MAX_DEPTH = 30

# What the converter writes, without style: all of it is MathML Core.
ATTRIBUTES = {
    "math": {"display"},
    "menclose": {"notation"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mn": set(),
    "mo": {"lspace", "maxsize", "minsize", "rspace", "stretchy", "symmetric"},
    "mover": {"accent"},
    "mpadded": {"height", "lspace", "voffset", "width"},
    "mphantom": set(),
    "mroot": set(),
    "mrow": set(),
    "mspace": {"depth", "height", "width"},
    "msqrt": set(),
    "mstyle": {"displaystyle", "scriptlevel"},
    "msub": set(),
    "msubsup": set(),
    "msup": set(),
    "mtable": {"displaystyle", "scriptlevel"},
    "mtd": set(),
    "mtext": set(),
    "mtr": set(),
    "munder": {"accentunder"},
    "munderover": set(),
}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_REASON = re.compile(r"Error: *(.+)")


class Formula(NamedTuple):
    """A formula as MathML, or the reason why it cannot be drawn."""

    mathml: str
    fault: str = ""


def convert(latex: str, *, is_block: bool) -> Formula:
    """Return a formula as MathML; with a fault where it is no LaTeX that we can draw."""
    if len(latex) > MAX_LENGTH:
        return Formula("", f"A formula has at most {MAX_LENGTH:,} characters; this one has {len(latex):,}.")
    if _depth(latex) > MAX_DEPTH:
        return Formula("", f"A formula has at most {MAX_DEPTH} braces in one another.")
    converter, refusal = _converter()
    try:
        return Formula(converter.convert_with_local_state(latex, displaystyle=is_block))
    except refusal as error:
        found = _REASON.search(_COLOUR.sub("", str(error)))
        return Formula("", found[1].strip() if found else "This is no formula that we can draw.")


@cache
def _converter() -> tuple[Any, type[Exception]]:
    from math_core import LatexError, LatexToMathML  # read where there is a formula: most sites have none

    return LatexToMathML(pretty_print="never"), LatexError


def _depth(latex: str) -> int:
    deepest = depth = 0
    for each in latex:
        depth += (each in "{[") - (each in "}]")
        deepest = max(deepest, depth)
    return deepest
