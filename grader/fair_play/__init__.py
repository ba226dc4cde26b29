"""Fair play: signs of label probing, and files of different teams that are too similar.

Both look only at the order of a file's rows, so that no monotone transform of the predictions changes them.
"""

from grader.fair_play.likeness import Likeness, Match, Sketch, likeness_of, matches, secret_rows, sketch_of
from grader.fair_play.orders import FileOrder
from grader.fair_play.probing import FileSigns, Sign, TeamFiles, is_listed

__all__ = [
    "FileOrder",
    "FileSigns",
    "Likeness",
    "Match",
    "Sign",
    "Sketch",
    "TeamFiles",
    "is_listed",
    "likeness_of",
    "matches",
    "secret_rows",
    "sketch_of",
]
