"""The bias score: weighted mean of the overall AUC and the power means of the identity AUCs."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext

from grader.metrics.auc import Comparison
from grader.metrics.means import EXACT, exact_power_mean
from grader.metrics.settings import MetricSettings


def unintended_bias_score(
    overall_auc: float,
    subgroup_aucs: Sequence[float],
    bpsn_aucs: Sequence[float],
    bnsp_aucs: Sequence[float],
    *,
    settings: MetricSettings | None = None,
) -> float:
    r"""Combine AUCs that are already known into the score.

    .. math:: score = w_0 AUC_{overall} + \sum_{a=1}^{3} w_a M_p(m_{s,a})

    Parameters
    ----------
    overall_auc : float
        ROC AUC on all rows.
    subgroup_aucs, bpsn_aucs, bnsp_aucs : sequence of float
        The AUCs of the identities.
    settings : MetricSettings, optional
        Power and weights.

    Returns
    -------
    float
        The score, rounded once. The sum is divided by the sum of the weights, so that a perfect
        model scores exactly 1 whatever the last bits of the weights are.

    Raises
    ------
    ValueError
        If a value is not in [0, 1], or there is none for a term.
    """
    settings = settings or MetricSettings()
    bias_aucs: dict[str, Sequence[float]] = {
        "subgroup_auc": subgroup_aucs,
        "bpsn_auc": bpsn_aucs,
        "bnsp_auc": bnsp_aucs,
    }
    for name, values in [("overall_auc", [overall_auc]), *bias_aucs.items()]:
        if not len(values) or not all(0 <= value <= 1 for value in values):
            raise ValueError(f"`{name}` must hold values between 0 and 1.")
    terms = {"overall_auc": Decimal(float(overall_auc))} | {
        name: exact_power_mean([Decimal(float(value)) for value in values], settings.power)
        for name, values in bias_aucs.items()
    }
    return float(_weighted_mean(terms, settings))


def exact_mean(comparisons: Sequence[Comparison], settings: MetricSettings) -> Decimal | None:
    """Return the power mean of the AUCs of several identities to 40 digits.

    An undefined AUC makes it None or is left out, as the settings say; without any it is None.
    """
    with localcontext(EXACT):
        aucs = [comparison.exact_auc for comparison in comparisons]
    defined = [auc for auc in aucs if auc is not None]
    if not defined or (settings.undefined == "error" and len(defined) < len(aucs)):
        return None
    return exact_power_mean(defined, settings.power)


def exact_score(terms: Mapping[str, Decimal | None], settings: MetricSettings) -> Decimal | None:
    """Return the weighted mean of the four terms to 40 digits.

    A term without weight does not matter; any other that is None makes the score None.
    """
    weights = settings.weights.as_dict()
    defined = {name: term for name, term in terms.items() if term is not None}
    if any(weights[name] for name in terms.keys() - defined.keys()):
        return None
    return _weighted_mean(defined, settings)


def _weighted_mean(terms: Mapping[str, Decimal], settings: MetricSettings) -> Decimal:
    # In the order of the settings, and by the exact sum of the weights: four equal terms give
    # exactly that score.
    weights = {name: Decimal(weight) for name, weight in settings.weights.as_dict().items() if name in terms}
    with localcontext(EXACT):
        total = sum((weight * terms[name] for name, weight in weights.items()), Decimal(0))
        return total / sum(weights.values())
