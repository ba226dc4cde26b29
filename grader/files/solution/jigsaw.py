"""Kaggle's published Jigsaw test files as a solution."""

from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from grader.files.reading.problems import FileProblem, FileRejected, reading
from grader.files.solution.roles import USAGE_COLUMN

if TYPE_CHECKING:
    import pandas as pd

ID, LABEL, TEXT = "id", "toxicity", "comment_text"
TITLE = "Jigsaw Unintended Bias in Toxicity Classification"
# The identities with more than 500 comments in the test set.
IDENTITIES = (
    "male",
    "female",
    "homosexual_gay_or_lesbian",
    "christian",
    "jewish",
    "muslim",
    "black",
    "white",
    "psychiatric_or_mental_illness",
)
FILES = {"test_public_expanded.csv": "Public", "test_private_expanded.csv": "Private"}


@reading("solution")
def read_jigsaw(folder: Path) -> "pd.DataFrame":
    """Read both files as text, sorted by id; raise FileRejected with the problem of a file."""
    import pandas as pd

    columns = [ID, LABEL, *IDENTITIES]
    parts = []
    for name, usage in FILES.items():
        path = folder / f"{name}.zip"
        path = path if path.is_file() else folder / name
        try:
            part = pd.read_csv(path, dtype="str", keep_default_na=False, usecols=[*columns, TEXT])
        except (OSError, ValueError, BadZipFile) as error:
            raise FileRejected(FileProblem("not_kaggles_files", f"{name} cannot be read: {error}")) from error
        parts.append(part.assign(**{USAGE_COLUMN: usage}))
    table = pd.concat(parts).sort_values(ID, key=lambda ids: ids.str.zfill(20))
    return table[[*columns, USAGE_COLUMN, TEXT]]


def write_jigsaw(table: "pd.DataFrame", target: Path) -> Path:
    """Write the table as ``solution.csv`` and its texts as ``test.csv``; return the solution's path."""
    table[[ID, TEXT]].to_csv(target / "test.csv", index=False)
    table.drop(columns=TEXT).to_csv(target / "solution.csv", index=False)
    return target / "solution.csv"
