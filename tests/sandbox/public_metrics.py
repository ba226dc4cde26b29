"""Metrics of public competitions, written from their definitions for each signature, with an oracle.

`t` and `p` are the tables without ids. `core` becomes a metric with Kaggle's and with MLE-bench's signature.
"""

import itertools
import math
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


def probabilities(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = [f"class_{place}" for place in range(4)]
    truth = pd.DataFrame(np.eye(4, dtype=int)[rng.integers(0, 4, ROWS)], columns=names)
    return truth, pd.DataFrame(rng.dirichlet(np.ones(4), ROWS), columns=names)


def several(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    names = ["reactivity", "deg_mg", "deg_c"]
    return tuple(pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=names) for _ in range(2))  # type: ignore[return-value]


def lists(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    def text(count: int) -> str:
        return " ".join(str(each) for each in rng.permutation(8)[:count])

    return one_column(
        [text(rng.integers(1, 4)) for _ in range(ROWS)], [text(rng.integers(1, 6)) for _ in range(ROWS)]
    )


def words(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    def text() -> str:
        return " ".join(rng.choice(["Lorem", "ipsum", "dolor", "sit", "amet", "NA", "1"], rng.integers(1, 6)))

    return one_column([text() for _ in range(ROWS)], [text() for _ in range(ROWS)])


def confidence(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    truth = pd.DataFrame({"fvc": rng.integers(1000, 5000, ROWS)})
    return truth, pd.DataFrame(
        {"fvc": rng.uniform(1000, 5000, ROWS), "confidence": rng.uniform(0, 500, ROWS)}
    )


def map5(truth: str, predicted: str) -> float:
    actual, hits, total = set(truth.split()), 0, 0.0
    for place, each in enumerate(predicted.split()[:5], 1):
        if each in actual:
            hits += 1
            total += hits / place
    return total / min(len(actual), 5)


def distance(one: str, other: str) -> int:
    table = {(0, j): j for j in range(len(other) + 1)} | {(i, 0): i for i in range(len(one) + 1)}
    for i, j in itertools.product(range(1, len(one) + 1), range(1, len(other) + 1)):
        change = table[i - 1, j - 1] + (one[i - 1] != other[j - 1])
        table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
    return table[len(one), len(other)]


def pairs(function: Callable[[str, str], float]) -> Callable[[pd.DataFrame, pd.DataFrame], float]:
    return lambda t, p: float(np.mean([function(*each) for each in zip(t.target, p.target, strict=True)]))


def set_f1(truth: str, predicted: str) -> float:
    true, found = set(truth.split()), set(predicted.split())
    return 2 * len(true & found) / (len(true) + len(found))


def word_jaccard(truth: str, predicted: str) -> float:
    true, found = set(truth.lower().split()), set(predicted.lower().split())
    return len(true & found) / len(true | found)


PER_ROW_CORE = "def core(t, p): return np.mean([row(*each) for each in zip(t.iloc[:, 0], p.iloc[:, 0])])"


def per_row(
    name: str, source: str, tables: Any, function: Callable[[str, str], float], lowest: bool = False
) -> PublicMetric:
    return PublicMetric(name, f"{source}\n{PER_ROW_CORE}", tables, pairs(function), lowest=lowest)


PUBLIC_METRICS = [
    PublicMetric(
        "bike sharing: RMSLE",
        "def core(t, p): return np.sqrt(np.mean((np.log1p(t.target) - np.log1p(p.target)) ** 2))",
        positive,
        lambda t, p: metrics.root_mean_squared_log_error(t.target, p.target),
        lowest=True,
    ),
    PublicMetric(
        "web traffic: SMAPE",
        "def core(t, p):\n    return 200 * np.mean(np.abs(t.target - p.target) / (t.target + p.target))",
        positive,
        lambda t, p: 200 * math.fsum(abs(a - b) / (a + b) for a, b in zip(t.target, p.target)) / len(t),  # noqa: B905
        lowest=True,
    ),
    PublicMetric(
        "Otto: log loss of several classes",
        "def core(t, p):\n    p = np.clip(p.values / p.values.sum(axis=1, keepdims=True), 1e-15, 1 - 1e-15)\n"
        "    return -np.mean(np.sum(t.values * np.log(p), axis=1))",
        probabilities,
        lambda t, p: metrics.log_loss(t.values, p.values),
        lowest=True,
    ),
    PublicMetric(
        "diabetic retinopathy: quadratic kappa",
        "from sklearn.metrics import cohen_kappa_score\n"
        "def core(t, p): return cohen_kappa_score(t.target, p.target, weights='quadratic')",
        classes,
        lambda t, p: metrics.cohen_kappa_score(t.target, p.target, weights="quadratic"),
    ),
    PublicMetric(
        "crop diseases: accuracy",
        "import sklearn.metrics\nimport kaggle_metric_utilities\ndef core(t, p):\n"
        "    return kaggle_metric_utilities.safe_call_score(sklearn.metrics.accuracy_score, t.values, p.values)",
        classes,
        lambda t, p: metrics.accuracy_score(t.target, p.target),
    ),
    PublicMetric(
        "bengali graphemes: macro recall",
        "from sklearn.metrics import recall_score\n"
        "def core(t, p): return recall_score(t.target, p.target, average='macro')",
        classes,
        lambda t, p: metrics.recall_score(t.target, p.target, average="macro"),
    ),
    PublicMetric(
        "COVID vaccine: MCRMSE",
        "def core(t, p): return np.mean(np.sqrt(np.mean((t.values - p.values) ** 2, axis=0)))",
        several,
        lambda t, p: float(np.mean([metrics.root_mean_squared_error(t[name], p[name]) for name in t])),
        lowest=True,
    ),
    PublicMetric(
        "OSIC: Laplace log likelihood",
        "def core(t, p):\n    sigma = p.confidence.clip(lower=70)\n"
        "    delta = (t.fvc - p.fvc).abs().clip(upper=1000)\n"
        "    return np.mean(-np.sqrt(2) * delta / sigma - np.log(np.sqrt(2) * sigma))",
        confidence,
        lambda t, p: (
            math.fsum(
                -math.sqrt(2) * min(abs(f - g), 1000) / max(c, 70) - math.log(math.sqrt(2) * max(c, 70))
                for f, g, c in zip(t.fvc, p.fvc, p.confidence, strict=True)
            )
            / len(t)
        ),
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
        "Porto Seguro: normalized Gini",
        "def gini(t, p):\n    order = np.lexsort((np.arange(len(t)), -p))\n"
        "    t = t[order]\n    return (np.cumsum(t) / t.sum()).sum() - (len(t) + 1) / 2\n"
        "def core(t, p):\n    t, p = t.target.to_numpy(), p.target.to_numpy()\n    return gini(t, p) / gini(t, t)",
        lambda rng: one_column(rng.integers(0, 2, ROWS), rng.permutation(ROWS) / ROWS),
        lambda t, p: 2 * metrics.roc_auc_score(t.target, p.target) - 1,
    ),
    PublicMetric(
        "question quality: mean column Spearman",
        "def core(t, p): return np.mean([t[name].corr(p[name], method='spearman') for name in t])",
        several,
        lambda t, p: float(np.mean([np.corrcoef(t[name].rank(), p[name].rank())[0, 1] for name in t])),
    ),
    per_row(
        "whales: MAP@5",
        "def row(truth, predicted):\n    true, hits, total = set(str(truth).split()), 0, 0.0\n"
        "    for place, each in enumerate(str(predicted).split()[:5]):\n        hits += each in true\n"
        "        total += (each in true) * hits / (place + 1)\n    return total / min(len(true), 5)",
        lists,
        map5,
    ),
    per_row(
        "groceries: mean F1 of lists",
        "def row(truth, predicted):\n    a, b = set(str(truth).split()), set(str(predicted).split())\n"
        "    return 2 * len(a & b) / (len(a) + len(b))",
        lists,
        set_f1,
    ),
    per_row(
        "tweets: word-level Jaccard",
        "def row(truth, predicted):\n    a, b = set(truth.lower().split()), set(predicted.lower().split())\n"
        "    c = a & b\n    return float(len(c)) / (len(a) + len(b) - len(c))",
        words,
        word_jaccard,
    ),
    per_row(
        "molecules: mean Levenshtein distance",
        "def row(a, b):\n    line = list(range(len(b) + 1))\n    for i, x in enumerate(a, 1):\n"
        "        last, line = line, [i]\n        for j, y in enumerate(b, 1):\n"
        "            line.append(min(last[j] + 1, line[-1] + 1, last[j - 1] + (x != y)))\n    return line[-1]",
        words,
        distance,
        lowest=True,
    ),
]
