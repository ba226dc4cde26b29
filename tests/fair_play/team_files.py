"""Files of probing teams and of twenty kinds of honest teams."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grader.fair_play import FileOrder, FileSigns, TeamFiles, secret_rows, sketch_of
from grader.metrics import dense_ranks

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IDENTITIES = {"bisexual": (83, 0.2), "jewish": (290, 0.17), "muslim": (430, 0.18), "female": (866, 0.14)}
ROWS = 20_000


class Rows:
    """The rows of a competition: labels, identities, and errors that all models share."""

    def __init__(self, seed: int, rows: int = ROWS):
        rng = np.random.default_rng([7, seed])
        self.labels: BoolArray = rng.random(rows) < 0.07
        self.mentions: Mapping[str, BoolArray] = {name: np.zeros(rows, np.bool_) for name in IDENTITIES}
        for name, (count, share) in IDENTITIES.items():
            members = rng.choice(rows, count, replace=False)
            self.mentions[name][members] = True
            self.labels[members] = rng.random(count) < share
        shift = sum(0.3 * mentioned for mentioned in self.mentions.values())
        self._easy = 2.2 * self.labels + shift + np.sqrt(0.7) * rng.normal(size=rows)

    def model(self, own: FloatArray, variance: float = 0.6) -> FloatArray:
        """Return calibrated predictions of a model with the given individual errors."""
        margin = 2.2 * (self._easy + np.sqrt(variance) * own) - 2.42
        return np.asarray(1 / (1 + np.exp(2.6 - margin / 1.3)))


def auc_of(order: FileOrder, positive: BoolArray) -> float:
    """Return the probability that a positive row ranks above a negative one."""
    places = order.places[positive]
    positives, negatives = places.size, positive.size - places.size
    return (float(places.sum()) * positive.size - positives**2 / 2) / (positives * negatives)


def signs(rows: Rows, files: Sequence[FloatArray]) -> list[FileSigns]:
    """Return the signs of the files of one team, scored by their AUC."""
    orders = [FileOrder(dense_ranks(file)) for file in files]
    sample = secret_rows(b"key", rows.labels.size)
    team = TeamFiles(orders.__getitem__)
    return [
        team.add(place, order, sketch_of(order, sample).places, auc=auc)
        for place, order in enumerate(orders)
        for auc in [auc_of(order, rows.labels)]
    ]


def attack_files(name: str, rows: Rows, rng: np.random.Generator, count: int = 10) -> list[FloatArray]:
    """Return the first files of an attack."""
    own = rows.model(rng.normal(size=rows.labels.size))
    return list(ATTACKS[name](rows, rng, own, count))


def _one_identity(rows: Rows, rng: np.random.Generator, own: FloatArray, count: int) -> Iterator[FloatArray]:
    """Put an identity at the bottom, but seven of its rows at the quantiles 1/2, 3/4, … of the others."""
    members = np.flatnonzero(rows.mentions["bisexual"])
    others = np.sort(own[~rows.mentions["bisexual"]])
    asked = np.resize(rng.permutation(members), (count, 7))
    for probed in asked:
        file = own + 1
        file[members] = own[members] / 2
        for level, row in enumerate(probed, 1):
            file[row] = 1 + others[int(others.size * (1 - 0.5**level))]
        yield file


def _row_pairs(rows: Rows, rng: np.random.Generator, own: FloatArray, count: int) -> Iterator[FloatArray]:
    """Tie all rows at the top except five; separate these by blocks of negatives that double in size."""
    order = np.argsort(own)
    for _ in range(count):
        file, begin = np.ones(own.size), 0
        for level, row in enumerate(rng.choice(order[own.size // 2 :], 5, replace=False)):
            file[order[begin : begin + 20 * 2**level]] = level / 100
            file[row] = level / 100 + 0.005
            begin += 20 * 2**level
        yield file


def _rows_in_own_file(
    _rows: Rows, rng: np.random.Generator, own: FloatArray, count: int
) -> Iterator[FloatArray]:
    """Move five rows of the team's model down to the ranks 20, 40, 80, 160 and 320."""
    order = np.argsort(own)
    for _ in range(count):
        file = own.copy()
        probed = rng.choice(order[own.size // 2 :], 5, replace=False)
        file[probed] = own[order[20 * 2 ** np.arange(5)]] - 1e-12
        yield file


def _slow_climb(_rows: Rows, rng: np.random.Generator, own: FloatArray, count: int) -> Iterator[FloatArray]:
    """Put three more rows at the top of each file."""
    file = own
    for _ in range(count):
        file = file.copy()
        file[rng.choice(own.size, 3, replace=False)] = 2
        yield file


def _kept_noise(rows: Rows, rng: np.random.Generator, own: FloatArray, count: int) -> Iterator[FloatArray]:
    """Start from noise, add more noise, and keep improvements."""
    best, score = rng.normal(size=own.size), -1.0
    for _ in range(count):
        file = best + rng.normal(size=own.size)
        yield file
        height = auc_of(FileOrder(dense_ranks(file)), rows.labels)
        if height > score:
            best, score = file, height


ATTACKS: Mapping[str, Callable[[Rows, np.random.Generator, FloatArray, int], Iterator[FloatArray]]] = {
    "one identity": _one_identity,
    "row pairs": _row_pairs,
    "rows in the team's own file": _rows_in_own_file,
    "slow climb": _slow_climb,
    "kept noise": _kept_noise,
    "random files": lambda _rows, rng, own, count: (rng.random(own.size) for _ in range(count)),
}


def honest_team(rows: Rows, rng: np.random.Generator, count: int = 10) -> list[FloatArray]:
    """Return the files of a team with typical honest experiments."""
    size = rows.labels.size
    own, variance = rng.normal(size=size), float(np.exp(rng.uniform(np.log(0.3), np.log(2.5))))
    files: list[FloatArray] = []
    for _ in range(count):
        tried = 0.95 * own + 0.3122 * rng.normal(size=size)
        model = rows.model(tried, variance * rng.uniform(0.75, 1.3))
        before = files[rng.integers(len(files))] if files else model
        kind = KINDS[rng.integers(len(KINDS))]
        files.append(np.asarray(kind(rows, rng, model, before), np.float64))
        if rng.random() < 0.4:
            own = tried
    return files


def _isotonic(_rows: Rows, rng: np.random.Generator, model: FloatArray, _before) -> FloatArray:
    steps = np.sort(rng.choice(np.sort(model), rng.integers(8, 60), replace=False))
    return np.searchsorted(steps, model) / steps.size


def _processed(rows: Rows, rng: np.random.Generator, file: FloatArray, factor: float) -> FloatArray:
    changed = file.copy()
    for name in rng.choice(list(rows.mentions), rng.integers(1, 4), replace=False):
        mentioned = rows.mentions[name]
        changed[mentioned] = changed[mentioned] * factor if rng.random() < 0.7 else changed[mentioned] - 0.05
    return changed


def _few_trees(rows: Rows, rng: np.random.Generator, model: FloatArray, _before) -> FloatArray:
    noise = (0.5 * model.std() * rng.normal(size=model.size) for _ in range(rng.integers(3, 20)))
    return np.mean([model + each > np.quantile(model, rng.uniform(0.5, 0.95)) for each in noise], axis=0)


def _fixed(_rows: Rows, rng: np.random.Generator, _model, before: FloatArray) -> FloatArray:
    changed = before.copy()
    count = int(np.exp(rng.uniform(np.log(5), np.log(2000))))
    changed[rng.choice(changed.size, count, replace=False)] = rng.integers(2)
    return changed


def _spelling(rows: Rows, rng: np.random.Generator, _model, _before) -> FloatArray:
    return np.asarray(rng.poisson(0.3 + 2 * rows.labels * rng.uniform(0.3, 1)), np.float64)


KINDS: tuple[Callable[[Rows, np.random.Generator, FloatArray, FloatArray], FloatArray], ...] = (
    lambda rows, rng, model, before: model,
    lambda rows, rng, model, before: np.round(model, 2),
    lambda rows, rng, model, before: np.round(model, 3),
    lambda rows, rng, model, before: model.astype(np.float16),
    _isotonic,
    lambda rows, rng, model, before: np.clip(model, *np.quantile(model, [rng.uniform(0, 0.6), 0.98])),
    lambda rows, rng, model, before: 0.6 * model + 0.4 * rows.model(rng.normal(size=model.size)),
    lambda rows, rng, model, before: 0.5 * dense_ranks(model) + 0.5 * dense_ranks(before),
    lambda rows, rng, model, before: np.mean(
        [rows.model(0.9 * rng.normal(size=model.size)) + 3 * model for _ in range(4)], axis=0
    ),
    lambda rows, rng, model, before: _processed(rows, rng, model, 0.8),
    lambda rows, rng, model, before: _processed(rows, rng, before, 0.9),
    lambda rows, rng, model, before: model > rng.choice([0.3, 0.5, 0.7]),
    lambda rows, rng, model, before: model > np.quantile(model, rng.uniform(0.8, 0.98)),
    lambda rows, rng, model, before: np.zeros(model.size),
    lambda rows, rng, model, before: np.full(model.size, 0.07),
    _few_trees,
    lambda rows, rng, model, before: before,
    _fixed,
    lambda rows, rng, model, before: dense_ranks(model),
    lambda rows, rng, model, before: np.exp(3 * before / (1 + np.ptp(before))),
    lambda rows, rng, model, before: rows.model(rng.normal(size=model.size), rng.uniform(2, 6)),
    _spelling,
)
