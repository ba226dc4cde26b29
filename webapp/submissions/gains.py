"""Where a submission could gain most: bars in score units, and one plain sentence of the largest."""

from dataclasses import dataclass

from grader.metrics.analysis.uncertainty.held_back import CellGain, HeldBack
from webapp.presentation.terms import NAMES, Classes, words_of

SHOWN = 10
SMALLEST = 0.000005  # a smaller one would be displayed as 0
_DOES = {
    "subgroup_auc": "mixes up {positive} and {negative} {rows} that mention {name}",
    "bpsn_auc": "flags {negative} {rows} that mention {name}",
    "bnsp_auc": "misses {positive} {rows} that mention {name}",
}


@dataclass(frozen=True, slots=True)
class GainBar:
    """What the score would gain if one AUC rose to the median of its column; `length` is from 0 to 100."""

    name: str
    term: str
    gain: str
    value: str
    median: str
    length: str
    mark: str


@dataclass(frozen=True, slots=True)
class GainsView:
    """The largest gains first; `marks` has for a cell of the table the class that it shares with its bar."""

    sentence: str
    bars: tuple[GainBar, ...]
    marks: dict[tuple[str, str], str]

    @classmethod
    def of(
        cls, found: HeldBack | None, classes: Classes, *, weakest_term: str | None, whose: str = "Your model"
    ) -> "GainsView | None":
        """Return the view of what holds a score back; None where the viewer sees no table."""
        if found is None:
            return None
        gains = [gain for gain in found.cells if gain.gain >= SMALLEST][:SHOWN]
        return cls(
            _sentence(gains, classes, weakest_term, whose),
            tuple(_bar(gain, gains[0].gain, place) for place, gain in enumerate(gains)),
            {(gain.name, gain.cell): f"g{place}" for place, gain in enumerate(gains)},
        )


def _bar(gain: CellGain, largest: float, place: int) -> GainBar:
    return GainBar(
        name=gain.name,
        term=NAMES[gain.cell],
        gain=f"+{gain.gain:.5f}",
        value=f"{gain.value:.2f}",
        median=f"{gain.median:.3f}".removesuffix("0"),  # of two values with two decimals it has three
        length=f"{100 * gain.gain / largest:.1f}",
        mark=f"g{place}",
    )


def _sentence(gains: list[CellGain], classes: Classes, weakest_term: str | None, whose: str) -> str:
    words = words_of(classes)
    if gains:
        most = gains[0]
        does = _DOES[most.cell].format(name=most.name, **words)
        return f"{whose} {does}: raising that {NAMES[most.cell]} to the median would gain {most.gain:.5f}."
    if weakest_term == "overall_auc":
        return (
            f"{whose} mixes up {words['positive']} and {words['negative']} {words['rows']} in general: "
            "no identity holds the score back."
        )
    return ""
