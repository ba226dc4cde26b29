"""Campaign parameters."""

import enum
from dataclasses import dataclass


class DatabaseKind(enum.StrEnum):
    """The installation's database."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Plan:
    """The size and the seed of a campaign.

    Attributes
    ----------
    seconds : float
        Minimum duration of the faults; they continue until `uploads` are acknowledged.
    uploads : int
        Number of uploads to acknowledge; 0 for any number.
    rows : int
        Number of rows in each file.
    faults : int
        Number of faults within `seconds`, at regular intervals; 0 for the default rate.
    seed : int
        Determines the faults, their order and the files.
    lease_seconds : int
        Lease of a scoring job, 40 by default. Stalled processes are stopped for longer than this.
    is_hasty : bool
        Whether the sweeper runs every second instead of every five, as a short campaign needs.
    patience_seconds : float
        Maximum time after the last fault until all jobs have ended.
    only : tuple of str
        Faults to choose from; all if empty.
    mutation : str
        Name of a deliberate defect in the service that the campaign should detect.
    """

    seconds: float = 20
    uploads: int = 0
    rows: int = 2000
    faults: int = 0
    clients: int = 6
    team_limit: int = 100
    seed: int = 1
    database: DatabaseKind = DatabaseKind.SQLITE
    lease_seconds: int = 40
    is_hasty: bool = False
    patience_seconds: float = 60
    only: tuple[str, ...] = ()
    mutation: str = ""

    @property
    def pause(self) -> float:
        """Seconds from one fault to the next."""
        return self.seconds / (self.faults or max(1, self.seconds / 1.5))

    @property
    def team_count(self) -> int:
        """Number of teams needed, because each can submit only `team_limit` files."""
        # The margin ensures that no team runs out of slots before the end.
        expected = max(self.uploads, int(40 * self.seconds / 1.5))
        return self.clients + 1 + expected * 5 // 4 // self.team_limit
