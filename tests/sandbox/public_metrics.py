"""Metrics of public competitions, written from their definitions for each signature, with an oracle.

`t` and `p` are the tables without ids. `core` becomes a metric with Kaggle's and with MLE-bench's signature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn import metrics

ROWS = 60


@dataclass(frozen=True)
class PublicMetric:
    """A metric: its source, a solution and predictions, and the expected score."""

    name: str
    core: str
    tables: Callable[[np.random.Generator], tuple[pd.DataFrame, pd.DataFrame]]
    oracle: Callable[[pd.DataFrame, pd.DataFrame], float]
    lowest: bool = False

    def sources(self) -> dict[str, str]:
        """Return the source for each signature."""
        core = f"import numpy as np\nimport pandas as pd\n{self.core}\n"
        score = (
            "def score(solution: pd.DataFrame, submission: pd.DataFrame, row_id_column_name: str) -> float:\n"
            "    del solution[row_id_column_name]\n    del submission[row_id_column_name]\n"
            "    return float(core(solution, submission))\n"
        )
        grade = (
            "def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:\n"
            "    submission, answers = submission.sort_values('id'), answers.sort_values('id')\n"
            "    assert (submission['id'] == answers['id']).all()\n"
            "    return core(answers.drop(columns='id'), submission.drop(columns='id'))\n"
        )
        return {"score": core + score, "grade": core + grade}


def one_column(truth: Any, prediction: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.DataFrame({"target": truth}), pd.DataFrame({"target": prediction})


def positive(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    return one_column(rng.integers(1, 500, ROWS), rng.uniform(0, 500, ROWS))


def classes(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    return one_column(rng.integers(0, 5, ROWS), rng.integers(0, 5, ROWS))


def binary(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    return one_column(rng.integers(0, 2, ROWS), rng.random(ROWS).round(1))


def several(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = ["reactivity", "deg_mg", "deg_c"]
    return tuple(pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=names) for _ in range(2))  # type: ignore[return-value]


def lists(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    def text(count: int) -> str:
        return " ".join(str(each) for each in rng.permutation(8)[:count])

    return one_column(
        [text(rng.integers(1, 4)) for _ in range(ROWS)], [text(rng.integers(1, 6)) for _ in range(ROWS)]
    )


def map5(truth: str, predicted: str) -> float:
    actual, hits, total = set(truth.split()), 0, 0.0
    for place, each in enumerate(predicted.split()[:5], 1):
        if each in actual:
            hits += 1
            total += hits / place
    return total / min(len(actual), 5)


PUBLIC_METRICS = [
    PublicMetric(
        "bike sharing: RMSLE",
        "def core(t, p): return np.sqrt(np.mean((np.log1p(t.target) - np.log1p(p.target)) ** 2))",
        positive,
        lambda t, p: metrics.root_mean_squared_log_error(t.target, p.target),
        lowest=True,
    ),
    PublicMetric(
        "crop diseases: accuracy",
        "import sklearn.metrics\nimport kaggle_metric_utilities\ndef core(t, p):\n"
        "    return kaggle_metric_utilities.safe_call_score(sklearn.metrics.accuracy_score, t.values, p.values)",
        classes,
        lambda t, p: metrics.accuracy_score(t.target, p.target),
    ),
    PublicMetric(
        "COVID vaccine: MCRMSE",
        "def core(t, p): return np.mean(np.sqrt(np.mean((t.values - p.values) ** 2, axis=0)))",
        several,
        lambda t, p: float(np.mean([metrics.root_mean_squared_error(t[name], p[name]) for name in t])),
        lowest=True,
    ),
    PublicMetric(
        "insults: ROC AUC",
        "from mlebench.competitions.utils import prepare_for_auroc_metric\n"
        "from mlebench.grade_helpers import InvalidSubmissionError\nfrom sklearn.metrics import roc_auc_score\n"
        "def core(t, p):\n    return roc_auc_score(**prepare_for_auroc_metric(p.reset_index(), t.reset_index(), 'index', 'target'))",
        binary,
        lambda t, p: metrics.roc_auc_score(t.target, p.target),
    ),
    PublicMetric(
        "whales: MAP@5",
        "def row(truth, predicted):\n    true, hits, total = set(str(truth).split()), 0, 0.0\n"
        "    for place, each in enumerate(str(predicted).split()[:5]):\n        hits += each in true\n"
        "        total += (each in true) * hits / (place + 1)\n    return total / min(len(true), 5)\n"
        "def core(t, p): return np.mean([row(*each) for each in zip(t.iloc[:, 0], p.iloc[:, 0])])",
        lists,
        lambda t, p: float(np.mean([map5(*each) for each in zip(t.target, p.target, strict=True)])),
    ),
]
