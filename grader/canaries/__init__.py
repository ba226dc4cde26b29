"""Canary rows: rows that enter no score, whose label is a secret coin, to find files made from a leak."""

from grader.canaries.chance import Followed, follow, least_chance
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
    "least_chance",
]
