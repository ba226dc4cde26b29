"""Reference implementation of the metric, modeled on public notebooks.

A data frame is filtered for each identity and subset, and scikit-learn computes the AUCs.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

POWER = -5
OVERALL_WEIGHT = 0.25


def to_frame(labels: np.ndarray, identities: dict[str, np.ndarray], predictions: np.ndarray) -> pd.DataFrame:
    """Return a data frame as in the notebooks, with booleans for the label and the identities."""
    columns = {name: np.where(values >= 0.5, True, False) for name, values in identities.items()}
    return pd.DataFrame({"label": labels >= 0.5, "prediction": predictions, **columns})


def score(frame: pd.DataFrame, identities: list[str]) -> float:
    """Return the final score of the predictions in a frame."""
    overall = roc_auc_score(frame["label"], frame["prediction"])
    aucs = pd.DataFrame([identity_aucs(frame, name) for name in identities])
    means = [power_mean(aucs[column]) for column in aucs.columns]
    return float(OVERALL_WEIGHT * overall + (1 - OVERALL_WEIGHT) * np.average(means))


def identity_aucs(frame: pd.DataFrame, name: str) -> dict[str, float]:
    """Return one identity's Subgroup, BPSN and BNSP AUC."""
    mentioned, positive = frame[name], frame["label"]
    return {
        "subgroup": auc(frame[mentioned]),
        "bpsn": auc(pd.concat([frame[mentioned & ~positive], frame[~mentioned & positive]])),
        "bnsp": auc(pd.concat([frame[mentioned & positive], frame[~mentioned & ~positive]])),
    }


def auc(examples: pd.DataFrame) -> float:
    return float(roc_auc_score(examples["label"], examples["prediction"]))


def power_mean(values: pd.Series) -> float:
    return float(np.power(sum(np.power(values, POWER)) / len(values), 1 / POWER))
