"""Modules that public Kaggle metrics and MLE-bench graders import."""

import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

ParticipantVisibleError = type("ParticipantVisibleError", (Exception,), {})
HostVisibleError = type("HostVisibleError", (Exception,), {})
InvalidSubmissionError = type("InvalidSubmissionError", (Exception,), {})


def treat_as_participant_error(error_message: str, solution: Any) -> bool:
    """Return whether a message contains no value of a purely numeric solution."""
    types = solution.dtypes if isinstance(solution, pd.DataFrame) else [solution.dtype]
    if not all(is_numeric_dtype(each) for each in types) or any(map(str.isnumeric, error_message)):
        return False
    has_bools = any(is_bool_dtype(each) for each in types)
    return not (has_bools and any(word in error_message.lower() for word in ("true", "false")))


def safe_call_score(metric: Callable[..., Any], solution: Any, submission: Any, **settings: Any) -> Any:
    """Call a metric; an error whose message contains no label becomes one for participants."""
    try:
        return metric(solution, submission, **settings)
    except Exception as error:
        has_audience = type(error).__name__ in ("HostVisibleError", "ParticipantVisibleError")
        if not has_audience and treat_as_participant_error(str(error), solution):
            raise ParticipantVisibleError(str(error)) from error
        raise


def verify_valid_probabilities(df: pd.DataFrame, df_name: str) -> None:
    """Raise an error for participants unless each row has probabilities that sum to 1."""
    if not is_numeric_dtype(df.values):
        raise ParticipantVisibleError(f"All target values in {df_name} must be numeric")
    if df.min().min() < 0:
        raise ParticipantVisibleError(f"All target values in {df_name} must be at least zero")
    if df.max().max() > 1:
        raise ParticipantVisibleError(f"All target values in {df_name} must be no greater than one")
    if not np.allclose(df.sum(axis=1), 1):
        raise ParticipantVisibleError(f"Target values in {df_name} do not add to one within all rows")


def prepare_for_accuracy_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, target_column: str, id_column: str
) -> dict[str, Any]:
    """Return the arguments of `accuracy_score`, in the order of the ids."""
    truth, predicted = _joined(submission, answers, target_column, id_column)
    return {"y_true": truth, "y_pred": predicted}


def prepare_for_auroc_metric(
    submission: pd.DataFrame, answers: pd.DataFrame, id_col: str, target_col: str
) -> dict[str, Any]:
    """Return the arguments of `roc_auc_score`, in the order of the ids."""
    truth, scores = _joined(submission, answers, target_col, id_col)
    if not is_numeric_dtype(scores) or scores.min() < 0 or scores.max() > 1:
        raise InvalidSubmissionError(f"Submission {target_col} column must contain probabilities")
    return {"y_true": truth, "y_score": scores}


def _joined(submission: pd.DataFrame, answers: pd.DataFrame, column: str, id_column: str) -> tuple[Any, Any]:
    if missing := sorted({id_column, column} - set(submission.columns)):
        raise InvalidSubmissionError(f"Submission is missing columns: {', '.join(missing)}")
    submission, answers = submission.sort_values(id_column), answers.sort_values(id_column)
    if submission[id_column].tolist() != answers[id_column].tolist():
        raise InvalidSubmissionError(f"Submission and answers must have the same values of {id_column}")
    return answers[column].to_numpy(), submission[column].to_numpy()


def register() -> None:
    """Make this module importable under the names that metrics use."""
    module = sys.modules[__name__]
    package = ModuleType("mlebench")
    package.get_logger = logging.getLogger  # type: ignore[attr-defined]
    bars = ModuleType("tqdm")
    vars(bars).update(tqdm=lambda rows=(), *_, **__: rows, trange=lambda *numbers, **_: range(*numbers))
    sys.modules |= {
        **dict.fromkeys(("tqdm", "tqdm.auto", "tqdm.notebook"), bars),
        "kaggle_metric_utilities": module,
        **dict.fromkeys(("mlebench", "mlebench.competitions", "mlebench.utils"), package),
        **dict.fromkeys(("mlebench.grade_helpers", "mlebench.competitions.utils"), module),
    }
