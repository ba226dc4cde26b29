"""Cache of prepared solutions in a scoring process's memory."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from grader.files import RowIds
from grader.metrics import RankedSplit
from grader.metrics.analysis.uncertainty.influence import Sets
from grader.models import Split
from grader.services.competitions.metric import Rules
from grader.services.scoring.jobs import Claim
from grader.services.solutions.truth import Truth
from grader.storage.stores import Storage

KEPT = 3


@dataclass(frozen=True, eq=False)
class PreparedSolution:
    """A solution prepared for scoring: its row ids and, for each split, its rows' positions and labels."""

    row_ids: RowIds
    splits: dict[Split, RankedSplit]

    @cached_property
    def sets(self) -> dict[Split, Sets]:
        """The rows of each split, prepared for standard errors."""
        return {split: Sets(ranked.split) for split, ranked in self.splits.items()}

    @classmethod
    def load(cls, storage: Storage, claim: Claim) -> "PreparedSolution":
        """Read and prepare the solution that a claim is scored against."""
        truth = Truth.from_bytes(storage.read(claim.prepared_sha256))
        return cls(
            RowIds.from_bytes(storage.read(claim.row_ids_sha256)),
            {split: _ranked(truth, split, claim.rules) for split in Split},
        )


class PreparedSolutions:
    """A small cache of prepared solutions; the least recently used is dropped first."""

    def __init__(self, load: Callable[[Claim], PreparedSolution], *, kept: int = KEPT) -> None:
        self._load = load
        self._kept = kept
        self._by_version: OrderedDict[int, PreparedSolution] = OrderedDict()

    def get(self, claim: Claim) -> PreparedSolution:
        """Return the solution of a claim's scoring version, preparing it on first use."""
        found = self._by_version.pop(claim.scoring_version_id, None)
        if found is None:
            while len(self._by_version) >= self._kept:
                self._by_version.popitem(last=False)
            found = self._load(claim)
        self._by_version[claim.scoring_version_id] = found
        return found


def _ranked(truth: Truth, split: Split, rules: Rules) -> RankedSplit:
    prepared = truth.prepare(split, identities=rules.identities, settings=rules.metric)
    return RankedSplit.of(prepared, truth.rows(split))
