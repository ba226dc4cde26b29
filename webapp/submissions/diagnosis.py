"""Submission diagnosis: AUCs that lower the score."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.metrics.analysis.power_means import CellGain, TermCost, weakest_term
from webapp.presentation.terms import NAMES, Classes, words_of

SHOWN = 10
SMALLEST = 0.000005  # smaller gains would be displayed as 0
_DOES = {
    "subgroup_auc": "confuses {positive} and {negative} {rows} that mention {name}",
    "bpsn_auc": "flags {negative} {rows} that mention {name}",
    "bnsp_auc": "misses {positive} {rows} that mention {name}",
}


@dataclass(frozen=True, slots=True)
class GainBar:
    """The score's increase if one AUC rose to its column's median; `length` is 0 to 100."""

    name: str
    term: str
    gain: str
    value: str
    median: str
    length: str
    mark: str


@dataclass(frozen=True, slots=True)
class GainsView:
    """The gains, costliest term first; `marks` maps table cells to their bar's CSS class."""

    sentence: str
    bars: tuple[GainBar, ...]
    marks: dict[tuple[str, str], str]

    @classmethod
    def of(cls, found: Sequence[TermCost], classes: Classes, *, whose: str = "Your model") -> "GainsView":
        """Return a diagnosis as displayed on the page."""
        gains = [gain for each in found for gain in each.cells if gain.gain >= SMALLEST][:SHOWN]
        largest = max((gain.gain for gain in gains), default=0.0)
        return cls(
            _sentence(found, classes, whose),
            tuple(_bar(gain, largest, place) for place, gain in enumerate(gains)),
            {(gain.name, gain.cell): f"g{place}" for place, gain in enumerate(gains)},
        )


def _bar(gain: CellGain, largest: float, place: int) -> GainBar:
    return GainBar(
        name=gain.name,
        term=NAMES[gain.cell],
        gain=f"+{gain.gain:.5f}",
        value=f"{gain.value:.2f}",
        median=f"{gain.median:.3f}".removesuffix("0"),  # the median can have three decimals
        length=f"{100 * gain.gain / largest:.1f}",
        mark=f"g{place}",
    )


def _sentence(found: Sequence[TermCost], classes: Classes, whose: str) -> str:
    """Describe the weakest term and its AUC with the largest gain, or several equal ones."""
    if weakest_term(found) is None:
        return ""
    lead, words = found[0], words_of(classes)
    costs = f"{NAMES[lead.term]} lowers the score most ({lead.cost:.5f})"
    if lead.term == "overall_auc":
        mixed = f"{words['positive']} and {words['negative']} {words['rows']}"
        return f"{costs}: {whose[:1].lower()}{whose[1:]} confuses {mixed} in general."
    gains = [gain for gain in lead.cells if gain.gain >= SMALLEST and gain.value == lead.cells[0].value]
    if not gains:
        return f"{costs}."
    others = f" or {len(gains) - 1} other identities with the same value" if len(gains) > 2 else ""
    others = others or (f" or {gains[1].name}" if len(gains) > 1 else "")
    does = _DOES[gains[0].cell].format(name=gains[0].name + others, **words)
    each = "one of these" if others else "this"
    return (
        f"{costs}. {whose} {does}. Raising {each} {NAMES[lead.term]} AUC{'s' if others else ''} to the "
        f"median would improve the score by {gains[0].gain:.5f}."
    )
