"""Fair play analysis: signs of label probing, and similar files from different teams.

The analysis uses only the order of a file's rows, so monotone transforms of the predictions do not affect it.
"""

from grader.fair_play.likeness import Match, Sketch, matches, secret_rows, sketch_of
from grader.fair_play.orders import FileOrder
from grader.fair_play.probing import FileSigns, Sign, TeamFiles, is_listed

__all__ = [
    "FileOrder",
    "FileSigns",
    "Match",
    "Sign",
    "Sketch",
    "TeamFiles",
    "is_listed",
    "matches",
    "secret_rows",
    "sketch_of",
]
