"""Pictures of the documentation: the page of each, and the labels that are marked on it."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
THEMES = ("light", "dark")


@dataclass(frozen=True)
class Picture:
    """A picture of a page of the demo.

    Each label is a text on the page. It gets a marker with its number, and the chapter has a numbered list
    whose items start with the labels in italics.
    """

    name: str
    chapter: str
    person: str
    path: str
    labels: tuple[str, ...]
    values: tuple[str, ...] = ()
    """Texts on the page that the chapter repeats, such as scores of the worked example."""
    height: int = 900


SUBMISSION = Picture(
    "submission",
    "participants.md",
    "newcomer",
    "/competitions/demo/submissions/{first}",
    ("Public score", "Rank", "Final selection", "Where the score is lost", "Identities"),
    values=("0.91194",),
)
PICTURES = (SUBMISSION,)
# Pictures of several pages side by side, with the caption of each page.
STEPS = {
    "Upload": "/competitions/demo/submissions",
    "See where the score is lost": "/competitions/demo/submissions/{first}",
    "Compete": "/competitions/demo/leaderboard",
}
MODES = {
    "open": "/competitions/demo/submissions/{open}",
    **{mode: f"/competitions/{mode}/submissions/{{{mode}}}" for mode in ("score", "tiered", "blind")},
}


def drawn() -> set[str]:
    """Return the names of all files that the screenshots are written to."""
    names = [*(picture.name for picture in PICTURES), "steps", "modes"]
    return {f"{name}-{theme}.png" for name in names for theme in THEMES}
