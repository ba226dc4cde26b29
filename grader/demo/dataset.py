"""Data files of the demo competition: train, test, solution, corrected solution and submissions.

The same seed gives the same bytes.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.random import Generator, default_rng

from grader.demo.corpus import IDENTITIES, Forum, write_comment

SEED = 2019
TRAIN_ROWS = 20_000
TEST_ROWS = 10_000
HARMFUL_SHARE = 0.3
RATERS = 10
UNANNOTATED_SHARE = 0.15
CORRECTED_LABELS = 200
WITHDRAWN_ROWS = 25


def _shares(*values: float) -> dict[str, float]:
    return dict(zip(IDENTITIES, values, strict=True))


# In the order of IDENTITIES: male, female, gay, christian, jewish, muslim, black, white, mental illness. In
# the training comments, some identities are mentioned mostly in attacks; in the test comments, they are also
# mentioned in everyday contexts.
TRAIN_FORUM = Forum(
    harmful=_shares(0.12, 0.11, 0.11, 0.04, 0.06, 0.12, 0.11, 0.09, 0.07),
    harmless=_shares(0.12, 0.13, 0.015, 0.08, 0.02, 0.02, 0.015, 0.025, 0.015),
    rare_templates=False,
)
TEST_FORUM = Forum(
    harmful=_shares(0.12, 0.11, 0.08, 0.06, 0.06, 0.08, 0.08, 0.08, 0.06),
    harmless=_shares(0.12, 0.13, 0.06, 0.08, 0.05, 0.06, 0.06, 0.06, 0.05),
    rare_templates=True,
)


class Dataset(NamedTuple):
    """The demo's tables; `corrected_solution` differs in some labels and has ``Ignored`` rows."""

    train: pd.DataFrame
    test: pd.DataFrame
    solution: pd.DataFrame
    corrected_solution: pd.DataFrame

    def write(self, folder: Path) -> None:
        """Write the four tables as CSV files into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self._asdict().items():
            table.to_csv(folder / f"{name}.csv", index=False)


def generate(*, seed: int = SEED, train_rows: int = TRAIN_ROWS, test_rows: int = TEST_ROWS) -> Dataset:
    """Generate the comments with their ratings."""
    rng = default_rng(seed)
    train = _rated_comments(rng, train_rows, TRAIN_FORUM, first_id=1)
    test = _rated_comments(rng, test_rows, TEST_FORUM, first_id=7_000_000)
    solution = test.drop(columns="comment_text")
    solution["Usage"] = rng.choice(["Public", "Private", "Ignored"], size=test_rows, p=[0.49, 0.49, 0.02])
    corrected = solution.copy()
    rows = rng.choice(test_rows, size=CORRECTED_LABELS + WITHDRAWN_ROWS, replace=False)
    relabelled, withdrawn = rows[:CORRECTED_LABELS], rows[CORRECTED_LABELS:]
    is_toxic = corrected.loc[relabelled, "target"] >= 0.5
    corrected.loc[relabelled, "target"] = np.where(is_toxic, 0.1, 0.9)
    corrected.loc[withdrawn, "Usage"] = "Ignored"
    return Dataset(train, test[["id", "comment_text"]], solution, corrected)


def _rated_comments(rng: Generator, rows: int, forum: Forum, *, first_id: int) -> pd.DataFrame:
    """Return comments with the shares of raters who find them toxic and who saw each identity mentioned.

    The shares of identities are blank for some comments.
    """
    comments = [write_comment(rng, harmful=rng.random() < HARMFUL_SHARE, forum=forum) for _ in range(rows)]
    frame = pd.DataFrame(
        {
            "id": np.arange(first_id, first_id + rows),
            "comment_text": [comment.text for comment in comments],
            "target": rng.binomial(RATERS, [comment.toxicity for comment in comments]) / RATERS,
        }
    )
    is_unannotated = rng.random(rows) < UNANNOTATED_SHARE
    for name in IDENTITIES:
        rates = [0.9 if name in comment.identities else 0.02 for comment in comments]
        frame[name] = np.where(is_unannotated, np.nan, rng.binomial(RATERS, rates) / RATERS)
    return frame


class GeneratedFile(NamedTuple):
    """A submission: the labels with noise and a bias for comments that mention identities."""

    team: str
    name: str
    noise: float
    bias: float
    description: str

    def predictions(self, solution: pd.DataFrame, *, seed: int) -> pd.DataFrame:
        """Return the table `id,prediction`."""
        rng = np.random.default_rng(seed)
        mentions = (solution[list(IDENTITIES)] >= 0.5).sum(axis=1)
        values = solution["target"] + self.bias * mentions + rng.normal(0, self.noise, len(solution))
        return pd.DataFrame({"id": solution["id"], "prediction": values.round(6)})


SUBMISSIONS = (
    GeneratedFile("dice", "dice", 9.0, 0.0, "Almost random numbers."),
    GeneratedFile("keywords", "keywords", 0.7, 0.0, "Many errors, but the same for all comments."),
    GeneratedFile("biased", "biased", 0.25, 0.5, "False alarms for comments that mention identities."),
    GeneratedFile("cautious", "cautious", 0.25, -0.3, "Misses harmful comments that mention identities."),
    GeneratedFile("words", "words", 0.4, 0.15, "Some errors and some false alarms."),
    GeneratedFile("words", "word-pairs", 0.35, 0.12, "Fewer errors and fewer false alarms."),
    GeneratedFile("letters", "letters", 0.3, 0.06, "Few errors, a small bias."),
    GeneratedFile("blend", "blend", 0.25, 0.0, "Few errors, no bias."),
)
