"""Generated predictions, labels and identities in the proportions of the Jigsaw data."""

from dataclasses import dataclass

import numpy as np

# The share of annotated comments that mention each identity: first the nine scored identities (with more than
# 500 mentions in the test set), then rarer ones to complete the competition's 24 columns.
MENTION_RATES = {
    "male": 0.110,
    "female": 0.120,
    "homosexual_gay_or_lesbian": 0.027,
    "christian": 0.100,
    "jewish": 0.019,
    "muslim": 0.052,
    "black": 0.037,
    "white": 0.062,
    "psychiatric_or_mental_illness": 0.012,
    **{f"identity_{number}": 0.005 for number in range(10, 25)},
}
POSITIVE_RATE = 0.08
DUPLICATES = 0.005


@dataclass(frozen=True)
class Data:
    """Labels and predictions of a split, and a column of 0, 1 or NaN for each identity."""

    labels: np.ndarray
    identities: dict[str, np.ndarray]
    predictions: np.ndarray

    @property
    def mentions_per_row(self) -> float:
        return sum(int(np.nansum(column)) for column in self.identities.values()) / len(self.labels)


def make(rows: int, identities: int, *, annotated: float = 1.0, seed: int = 0) -> Data:
    """Generate a random split; rows that are not annotated are blank for every identity."""
    rng = np.random.default_rng(seed)
    labels = rng.random(rows) < POSITIVE_RATE
    blank = rng.random(rows) >= annotated
    columns = {}
    logits = rng.normal(-3.0, 1.6, rows) + 3.0 * labels
    for name, rate in list(MENTION_RATES.items())[:identities]:
        mentioned = rng.random(rows) < np.where(labels, 1.6 * rate, 0.95 * rate)
        logits += 0.4 * mentioned
        columns[name] = np.where(blank, np.nan, mentioned)
    predictions = 1 / (1 + np.exp(-logits))
    # Duplicate texts have equal predictions.
    copies = rng.integers(0, rows, int(DUPLICATES * rows))
    predictions[copies] = predictions[rng.integers(0, rows, copies.size)]
    return Data(labels.astype(np.float64), columns, predictions)
