"""Canary rows: rows that enter no score, whose label is a secret coin, to find files made from a leak."""

from grader.canaries.chance import Followed, follow, is_named, least_chance
from grader.canaries.drawing import LEAST, MOST, PROPOSED, CannotDraw, Drawn, draw

__all__ = [
    "LEAST",
    "MOST",
    "PROPOSED",
    "CannotDraw",
    "Drawn",
    "Followed",
    "draw",
    "follow",
    "is_named",
    "least_chance",
]
