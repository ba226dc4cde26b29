"""Eight generated submissions of the demo, which differ in quality and bias."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from grader.demo.corpus import IDENTITIES


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """A submission: the labels with noise and a bias for comments that mention identities."""

    team: str
    name: str
    noise: float
    bias: float
    description: str

    def predictions(self, solution: pd.DataFrame, *, seed: int) -> pd.DataFrame:
        """Return the table `id,prediction`."""
        rng = np.random.default_rng(seed)
        mentions = (solution[list(IDENTITIES)] >= 0.5).sum(axis=1)
        values = solution["target"] + self.bias * mentions + rng.normal(0, self.noise, len(solution))
        return pd.DataFrame({"id": solution["id"], "prediction": values.round(6)})


SUBMISSIONS = (
    GeneratedFile("dice", "dice", 9.0, 0.0, "Almost random numbers."),
    GeneratedFile("keywords", "keywords", 0.7, 0.0, "Many errors, but the same for all comments."),
    GeneratedFile("biased", "biased", 0.25, 0.5, "False alarms for comments that mention identities."),
    GeneratedFile("cautious", "cautious", 0.25, -0.3, "Misses harmful comments that mention identities."),
    GeneratedFile("words", "words", 0.4, 0.15, "Some errors and some false alarms."),
    GeneratedFile("words", "word-pairs", 0.35, 0.12, "Fewer errors and fewer false alarms."),
    GeneratedFile("letters", "letters", 0.3, 0.06, "Few errors, a small bias."),
    GeneratedFile("blend", "blend", 0.25, 0.0, "Few errors, no bias."),
)
