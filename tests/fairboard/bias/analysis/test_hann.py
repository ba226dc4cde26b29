"""Published values of Hann, Kalil and Payne, recomputed from other values in the paper.

The paper is "Analyzing Identity Mention Bias in Toxic Comment Classification". Its data are not available
here. If a table follows from counts, means or AUCs that the paper reports, the tests construct rows with
exactly these values and measure them.
"""

import math

import numpy as np
import pandas as pd

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.association import (
    ppmi_of_counts,
)
from fairboard.bias.analysis.pairs import fuzzed_terms

# Table 4; its first column is Table 1.
AUCS = {
    "toxicity": (0.94900, 0.92918),
    "obscene": (0.99474, 0.99489),
    "threat": (0.97261, 0.96791),
    "insult": (0.97092, 0.96712),
    "identity_attack": (0.96248, 0.89466),
    "sexual_explicit": (0.98904, 0.98717),
}
NEGATIVES = 100_000


def predictions_with(aucs):
    """Return predictions for one positive row and for negative rows that result in exactly these AUCs."""
    above = np.arange(NEGATIVES, dtype=float)
    return {label: np.append(round(auc * NEGATIVES) - 0.5, above) for label, auc in aucs.items()}


def test_tables_1_and_4_show_five_lower_aucs_and_a_higher_one_for_obscene():
    truth = np.append(1, np.zeros(NEGATIVES))
    one_positive = Data.of(dict.fromkeys(AUCS, truth), {})
    regular = predictions_with({label: aucs[0] for label, aucs in AUCS.items()})
    fuzzed = predictions_with({label: aucs[1] for label, aucs in AUCS.items()})
    found = fuzzed_terms(one_positive, regular, one_positive, fuzzed).xs("overall_auc", level="term")
    assert found["original"].to_dict() == {label: aucs[0] for label, aucs in AUCS.items()}
    differences = found["difference"].round(5).to_dict()
    assert differences == {
        "toxicity": -0.01982,
        "obscene": 0.00015,
        "threat": -0.0047,
        "insult": -0.0038,
        "identity_attack": -0.06782,
        "sexual_explicit": -0.00187,
    }


# Figure 3. The toxic comments on heterosexuality are 185 identity attacks, 86 insults, 37 sexually explicit,
# 4 obscene and 1 threat: 313 in total, each with one label.
HETEROSEXUAL = {"identity_attack": 185, "insult": 86, "sexual_explicit": 37, "obscene": 4, "threat": 1}
PRINTED = {"identity_attack": 0.263, "insult": 0.0, "sexual_explicit": 0.886, "obscene": 0.0, "threat": 0.0}
# The value for other_gender, intellectual_or_learning_disability and other_disability.
ONLY_INSULTS = 0.798


def shares_of_labels(base):
    """Return the labels' shares according to Figure 3, using logarithms to the given base."""
    of = {
        label: HETEROSEXUAL[label] / 313 / base ** PRINTED[label]
        for label in ("identity_attack", "sexual_explicit")
    }
    return of | {"insult": base**-ONLY_INSULTS}


def test_figure_3_matches_ppmi_of_pairs_for_heterosexual():
    total = 1_000_000
    of_labels = {label: round(share * total) for label, share in shares_of_labels(math.e).items()}
    others = total - sum(of_labels.values())
    of_labels |= {"obscene": others // 2, "threat": others - others // 2}
    counts = pd.DataFrame({"heterosexual": HETEROSEXUAL}).T
    counts.loc["other_gender"] = [100 * (label == "insult") for label in counts]
    counts.loc["rest"] = pd.Series(of_labels)[counts.columns] - counts.sum()
    found = ppmi_of_counts(counts.astype(int)).round(3)
    assert found.loc["heterosexual", list(PRINTED)].to_dict() == PRINTED
    assert found.loc["other_gender", "insult"] == ONLY_INSULTS
