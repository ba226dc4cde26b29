"""What a campaign is asked to do."""

import enum
from dataclasses import dataclass


class DatabaseKind(enum.StrEnum):
    """Which database the installation runs on."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Plan:
    """The size and the seed of a campaign.

    Attributes
    ----------
    seconds : float
        For how long faults come, at least; they go on until `uploads` are acknowledged.
    uploads : int
        How many uploads are to be acknowledged; 0 for as many as come.
    rows : int
        Rows of each file.
    faults : int
        How many faults come within `seconds`, one after the other at even distances.
    seed : int
        Decides the faults, their order and the files.
    lease_seconds : int
        Of one scoring; the product's default is 40, and each stalled process is held for longer than that.
    is_hasty : bool
        Whether the sweeper looks every second rather than every five, as a short campaign needs.
    patience_seconds : float
        How long after the last fault to wait until everything has come to an end.
    only : tuple of str
        The faults to choose from, all where it is empty.
    mutation : str
        Name of something that is broken in the service, to see that the campaign notices.
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
        """How many teams there have to be, for each may send `team_limit` files."""
        expected = max(self.uploads, int(40 * self.seconds / 1.5))  # none runs out of slots before the end
        return self.clients + 1 + expected * 5 // 4 // self.team_limit
