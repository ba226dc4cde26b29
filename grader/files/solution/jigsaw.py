"""Kaggle's published Jigsaw test files as a solution."""

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from grader.files.reading.problems import FileProblem, FileRejected, reading
from grader.files.solution.roles import USAGE_COLUMN
from grader.text import counted, listed, plural, quoted

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
    """Read both files as text, sorted by id; raise FileRejected with the problems of both."""
    import pandas as pd

    columns = [ID, LABEL, *IDENTITIES]
    parts, problems = [], []
    for name, usage in FILES.items():
        path = next((p for p in (folder / name, folder / f"{name}.zip") if p.is_file()), None)
        if path is None:
            problems.append(f"The folder {folder} does not contain {name} or {name}.zip.")
            continue
        content = path.read_bytes()
        try:
            content = content if path.suffix == ".csv" else ZipFile(BytesIO(content)).read(name)
            part = pd.read_csv(BytesIO(content), dtype="str", keep_default_na=False)
        except (ValueError, KeyError, BadZipFile) as error:
            problems.append(f"{name} cannot be read: {error}")
            continue
        missing = [quoted(each) for each in (*columns, TEXT) if each not in part.columns]
        if missing:
            expected = f"expected Kaggle's {name}, not train.csv or test.csv"
            problems.append(f"{name} has no {plural('column', len(missing))} {listed(missing)}; {expected}.")
        parts.append(part.assign(**{USAGE_COLUMN: usage}))
    if not problems:
        table = pd.concat(parts).sort_values(ID, key=lambda ids: ids.str.zfill(20))
        repeated = table[ID][table[ID].duplicated()]
        if not repeated.empty:
            problems.append(
                f"{counted(len(repeated), 'id')} repeated in the two files: {listed(list(repeated))}."
            )
    if problems:
        raise FileRejected(*(FileProblem("not_kaggles_files", each) for each in problems))
    return table[[*columns, USAGE_COLUMN, TEXT]]


def write_jigsaw(table: "pd.DataFrame", target: Path) -> Path:
    """Write the table as ``solution.csv`` and its texts as ``test.csv``; return the solution's path."""
    table[[ID, TEXT]].to_csv(target / "test.csv", index=False)
    table.drop(columns=TEXT).to_csv(target / "solution.csv", index=False)
    return target / "solution.csv"
