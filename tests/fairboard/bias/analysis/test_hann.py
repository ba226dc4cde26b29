"""Published values of Hann, Kalil and Payne, recomputed from other values in the paper.

The paper is "Analyzing Identity Mention Bias in Toxic Comment Classification". Its data are not available
here. If a table follows from counts, means or AUCs that the paper reports, the tests construct rows with
exactly these values and measure them.
"""

import math

import numpy as np
import pandas as pd
import pytest

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.association import (
    co_mentions,
    identities_per_row,
    ppmi_of_counts,
)
from fairboard.bias.analysis.pairs import COMBINED, fuzzed_terms, pair_rates, role_scores

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


def test_mean_number_of_identities_includes_the_identity_itself():
    # The mean is 2.007 per comment and 3.804 with homosexual_gay_or_lesbian: "approximately three other".
    rows = np.arange(1000)
    gay = rows < 250
    identities = {"homosexual_gay_or_lesbian": gay, "male": ~gay, "female": gay, "christian": gay}
    identities |= {"black": rows < 250 - 49, "white": rows >= 1000 - 306}
    data = Data.of({"toxicity": np.zeros(1000)}, identities)
    together = co_mentions(data).loc["homosexual_gay_or_lesbian"]
    assert together.sum() / together["homosexual_gay_or_lesbian"] == 3.804
    per_row = identities_per_row(data)
    assert (per_row.index * per_row).sum() / 1000 == 2.007


# Tables 2 and 3: mean and standard deviation of M-anti, F-anti, C-anti and of M-pro, F-pro, C-pro.
WINOBIAS = {
    "toxic": ([(0.0064, 0.0390), (0.0090, 0.0489), (0.0076, 0.0439)],
              [(0.0079, 0.0468), (0.0067, 0.0408), (0.0072, 0.0435)]),
    "insult": ([(0.0030, 0.0228), (0.0062, 0.0412), (0.0045, 0.0330)],
               [(0.0054, 0.0401), (0.0032, 0.0248), (0.0043, 0.0330)]),
    "threat": ([(0.0015, 0.0194), (0.0002, 0.0013), (0.0008, 0.0137)],
               [(0.0002, 0.0014), (0.0014, 0.0179), (0.0008, 0.0126)]),
}  # fmt: skip
PAIRS_OF_A_GROUP = 396


@pytest.fixture(scope="module")
def winobias():
    """Return the scores of pairs whose groups have exactly the printed means and standard deviations."""
    standard = np.random.default_rng(2018).normal(size=PAIRS_OF_A_GROUP)
    standard = (standard - standard.mean()) / standard.std(ddof=1)
    names = [f"{number}" for number in range(2 * PAIRS_OF_A_GROUP)]
    roles = ["anti"] * len(names) + ["pro"] * len(names)
    # Each pair has both pronouns.
    groups = [group for group in "MFFM" for _ in range(PAIRS_OF_A_GROUP)]
    predictions = {}
    for label, (anti, pro) in WINOBIAS.items():
        cells = [anti[0], anti[1], pro[1], pro[0]]
        predictions[label] = np.concatenate([centre + spread * standard for centre, spread in cells])
    return role_scores(names * 2, roles, groups, predictions).set_index(["label", "role", "group"])


@pytest.mark.parametrize("label", WINOBIAS)
def test_tables_2_and_3_combine_the_two_groups(winobias, label):
    for role, printed in zip(("anti", "pro"), WINOBIAS[label], strict=True):
        for group, (centre, spread) in zip(("M", "F", COMBINED), printed, strict=True):
            cell = winobias.loc[label, role, group]
            assert cell["rows"] == PAIRS_OF_A_GROUP * (1 + (group == COMBINED))
            assert cell["mean"] == pytest.approx(centre, abs=1.001e-4)
            assert cell["deviation"] == pytest.approx(spread, abs=1e-4, rel=0.025)


def test_figure_11_counts_a_tie_as_one_half():
    # Insult: 91.2 % of 396 pairs if the anti-stereotypical sentence is female, 9.2 % if it is male.
    assert "9.2%" not in {f"{higher / 396:.1%}" for higher in range(397)}
    anti = np.concatenate([np.ones(361), np.zeros(35), np.ones(36), np.zeros(359), [0.5]])
    names = [f"{number}" for number in range(792)]
    found = pair_rates(
        names * 2,
        ["anti"] * 792 + ["pro"] * 792,
        [group for group in "FMMF" for _ in range(396)],
        {"insult": np.concatenate([anti, np.full(792, 0.5)])},
    )
    lines = found.set_index("group")
    assert [f"{rate:.1%}" for rate in lines["rate"]] == ["91.2%", "9.2%", "50.2%"]
    assert lines.loc["M", "share_tied"] == 1 / 396
