"""Campaign parameters."""

import enum
from typing import NamedTuple

CLIENTS = 6
TEAM_LIMIT = 100


class DatabaseKind(enum.StrEnum):
    """The installation's database."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


class Plan(NamedTuple):
    """The size and the seed of a campaign; `__main__.py` describes the options."""

    seconds: float = 20
    uploads: int = 0
    rows: int = 2000
    faults: int = 0
    seed: int = 1
    database: DatabaseKind = DatabaseKind.SQLITE
    is_hasty: bool = False
    patience_seconds: float = 60
    only: tuple[str, ...] = ()

    @property
    def lease_seconds(self) -> int:
        """Lease of a scoring job. Stalled processes are stopped for longer than this."""
        return 8 if self.is_hasty else 40

    @property
    def pause(self) -> float:
        """Seconds from one fault to the next."""
        return self.seconds / (self.faults or max(1, self.seconds / 1.5))

    @property
    def team_count(self) -> int:
        """Number of teams needed, because each can submit only `TEAM_LIMIT` files."""
        # The margin ensures that no team runs out of slots before the end.
        expected = max(self.uploads, int(40 * self.seconds / 1.5))
        return CLIENTS + 1 + expected * 5 // 4 // TEAM_LIMIT
