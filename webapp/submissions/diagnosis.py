"""Submission diagnosis: AUCs that lower the score."""

from dataclasses import dataclass

from grader.metrics.bias.analysis.power_means import CellGain
from grader.ranking.order import error_text
from grader.services.leaderboards.submission_results import SplitResult
from webapp.presentation.terms import NAMES, TERMS, ClassNames, words_of

SHOWN = 10
_DOES = {term.key: term.fault for term in TERMS}


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
    """The gains, largest first; `marks` maps table cells to their bar's CSS class."""

    sentence: str
    bars: tuple[GainBar, ...]
    marks: dict[tuple[str, str], str]

    @classmethod
    def of(cls, result: SplitResult | None, classes: ClassNames, *, whose: str = "Your model") -> "GainsView":
        """Return the gains as displayed on the page."""
        gains = result.gains[:SHOWN] if result else ()
        return cls(
            _sentence(result, classes, whose) if result else "",
            tuple(_bar(gain, gains[0].gain, place) for place, gain in enumerate(gains)),
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


def _sentence(result: SplitResult, classes: ClassNames, whose: str) -> str:
    """Describe the AUC with the largest gain, or several equal ones."""
    if not result.gains:
        error = result.errors.get("score")
        if not (error and result.identities):
            return ""
        return (
            "Raising any single AUC to the median of its column would improve the score by less than its "
            f"standard error, {error_text(error)}."
        )
    lead = result.gains[0]
    equal = [gain for gain in result.gains if (gain.cell, gain.value) == (lead.cell, lead.value)]
    others = f" or {len(equal) - 1} other identities with the same value" if len(equal) > 2 else ""
    others = others or (f" or {equal[1].name}" if len(equal) > 1 else "")
    does = _DOES[lead.cell].format(name=lead.name + others, **words_of(classes))
    which = "one of these" if others else "this"
    return (
        f"{whose} {does}. Raising {which} {NAMES[lead.cell]} AUC{'s' if others else ''} to the median would "
        f"improve the score by {lead.gain:.5f}, which is the largest possible gain."
    )
