"""Module for Hugging Face evaluate: `evaluate.load(fairboard.evaluate.__file__)`."""

from typing import Any

from fairboard import bias_report

try:
    import datasets
    import evaluate
except ImportError as error:
    raise ImportError("fairboard.evaluate requires evaluate: pip install evaluate") from error

INPUTS = """
Args:
    predictions (`list` of `float`): one finite prediction per row.
    references (`list` of `float`): labels; a row is positive if its label is at least 0.5.
    identities (`list` of `list` of `str`): the identities that each row mentions; None if there are none.
    names (`list` of `str`, optional): all identities in order. By default, all mentioned identities.
    settings (`MetricSettings`, optional): power, weights, thresholds and undefined policy.

Returns:
    `dict`: the output of `BiasReport.as_dict`, and the reasons for undefined values, which are None.
"""


class FairboardBias(evaluate.Metric):
    """The bias report as a metric of Hugging Face evaluate."""

    def _info(self) -> Any:
        number, texts = datasets.Value("float64"), datasets.Sequence(datasets.Value("string"))
        return evaluate.MetricInfo(
            description="Unintended bias: Subgroup, BPSN and BNSP AUCs, AEGs, and the score of Jigsaw.",
            citation="",
            inputs_description=INPUTS,
            features=datasets.Features(predictions=number, references=number, identities=texts),
        )

    def _compute(
        self, predictions: Any, references: Any, identities: Any, names: Any = None, settings: Any = None
    ) -> dict[str, Any]:
        identities = [[name for name in row or [] if name is not None] for row in identities]
        mentioned = {name for row in identities for name in row}
        names = sorted(mentioned) if names is None else names
        if unknown := sorted(mentioned.difference(names)):
            raise ValueError(f"`identities` contains {', '.join(unknown)}, which `names` does not contain.")
        subgroups = {name: [name in row for row in identities] for name in names}
        report = bias_report(references, predictions, subgroups, settings=settings)
        return {**report.as_dict(), "undefined": [str(each) for each in report.undefined]}
