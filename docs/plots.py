"""Regenerate the plots in docs/bias-metrics.md: `python docs/plots.py`."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from fairboard.bias.analysis import Data
from fairboard.bias.analysis.distributions import score_histograms
from fairboard.bias.analysis.skew_scenarios import TABLE_2, Scenario, class_balances, draw

IMAGES = Path(__file__).parent / "images"
SEED = 2019
BINS = 50
PANEL_WIDTH, PANEL_HEIGHT, GAP = 112, 64, 10
LEFT, TOP, BOTTOM = 84, 46, 24

# Blue and orange of Okabe and Ito, which the colour-blind tell apart; the orange set has an outline too.
STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #222; }
  .axis { stroke: #888; stroke-width: 1; }
  .negative { fill: #0072b2; fill-opacity: .75; }
  .positive { fill: #e69f00; fill-opacity: .65; stroke: #8a5f00; stroke-width: .75; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .negative { fill: #56b4e9; }
    .positive { stroke: #ffd27f; }
  }
"""


def plot(scenarios: Sequence[Scenario], title: str) -> str:
    """Return one SVG: a column for each scenario, its background above its subgroup."""
    width = LEFT + len(scenarios) * (PANEL_WIDTH + GAP)
    height = TOP + 2 * (PANEL_HEIGHT + GAP) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        *_legend(),
        *(f'<text x="0" y="{_row(place) + PANEL_HEIGHT / 2:g}">{name}</text>' for place, name in _ROWS),
    ]
    for place, scenario in enumerate(scenarios):
        parts += _column(scenario, LEFT + place * (PANEL_WIDTH + GAP))
    return "\n".join([*parts, "</svg>", ""])


_ROWS = ((0, "background"), (1, "subgroup"))


def _row(place: int) -> int:
    return TOP + place * (PANEL_HEIGHT + GAP)


def _legend() -> list[str]:
    return [
        f'<rect class="negative" x="{LEFT}" y="4" width="12" height="12"/>',
        f'<text x="{LEFT + 18}" y="14">negative rows</text>',
        f'<rect class="positive" x="{LEFT + 118}" y="4" width="12" height="12"/>',
        f'<text x="{LEFT + 136}" y="14">positive rows</text>',
    ]


def _column(scenario: Scenario, x: int) -> list[str]:
    rows = draw(scenario, seed=SEED)
    data = Data.of(rows["label"], rows[["subgroup"]])
    sets = score_histograms(data, rows["prediction"], "subgroup", bins=BINS).drop(columns=["low", "high"])
    negatives, positives = ([sets[f"{group}_{of}"] for _, group in _ROWS] for of in ("negative", "positive"))
    highest = int(sets.to_numpy().max())
    parts = [f'<text x="{x + PANEL_WIDTH / 2:g}" y="{TOP - 8}" text-anchor="middle">{scenario.column}</text>']
    for place, (negative, positive) in enumerate(zip(negatives, positives, strict=True)):
        floor = _row(place) + PANEL_HEIGHT
        parts.append(f'<path class="negative" d="{_outline(negative, x, floor, highest)}"/>')
        parts.append(f'<path class="positive" d="{_outline(positive, x, floor, highest)}"/>')
        parts.append(f'<path class="axis" d="M{x} {floor}h{PANEL_WIDTH}"/>')
    for share, anchor in ((0, "start"), (1, "end")):
        at = x + share * PANEL_WIDTH
        parts.append(f'<text x="{at}" y="{floor + 16}" text-anchor="{anchor}">{share}</text>')
    return parts


def _outline(counts: pd.Series, x: int, floor: int, highest: int) -> str:
    """Return the steps of a histogram as a path, from where it rises to where it ends."""
    filled = [place for place, count in enumerate(counts) if count]
    step = PANEL_WIDTH / BINS
    steps = "".join(
        f"V{floor - counts[place] / highest * PANEL_HEIGHT:.1f}h{step:.2f}"
        for place in range(filled[0], filled[-1] + 1)
    )
    return f"M{x + filled[0] * step:.2f} {floor}{steps}V{floor}Z"


PLOTS = {
    "table-2.svg": plot(TABLE_2, "Predictions of the seven scenarios of Table 2, by class"),
    "class-balances.svg": plot(
        list(class_balances().values()), "The same predictions at three balances of the classes"
    ),
}

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, svg in PLOTS.items():
        (IMAGES / name).write_text(svg)
