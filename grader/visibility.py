"""Field visibility by viewer, phase and feedback mode.

Pages, JSON, exports, charts and e-mails contain only these fields. Fields that a viewer may not see are not
read from the database for that viewer. They also never affect the selection, number or order of the items
that the viewer sees.
"""

import enum
from collections.abc import Mapping


class Phase(enum.StrEnum):
    """The phases of a competition."""

    SCHEDULED = "scheduled"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"


class Viewer(enum.StrEnum):
    """The classes of viewers: the public, participants in other teams, the owning team, and organizers."""

    PUBLIC = "public"
    PARTICIPANT = "participant"
    TEAM = "team"
    ORGANIZER = "organizer"


class Feedback(enum.StrEnum):
    """The feedback modes: the part of public scores that is visible before the reveal.

    Organizers see everything in every mode. In `open` mode, everyone sees the public score and its four
    terms. A team also sees the public identity tables of its own submissions and the standard errors of their
    differences. In `score` mode, only the public score is visible, with all decimals. `tiered` shows the band
    that contains the exact score; the organizer sets the width of the bands. `blind` shows no score.
    """

    OPEN = "open"
    SCORE = "score"
    TIERED = "tiered"
    BLIND = "blind"

    @property
    def is_coarse(self) -> bool:
        """Whether the mode hides the exact score."""
        return self not in (Feedback.OPEN, Feedback.SCORE)


USUAL_FEEDBACK = Feedback.OPEN
"""The feedback mode of new competitions: teams see the terms and identity tables of their submissions."""


class Step(enum.StrEnum):
    """The width of a band in `tiered` mode."""

    OF_0_0005 = "0.0005"
    OF_0_001 = "0.001"
    OF_0_002 = "0.002"
    OF_0_005 = "0.005"
    OF_0_01 = "0.01"
    OF_0_02 = "0.02"
    OF_0_05 = "0.05"

    @property
    def decimals(self) -> int:
        """The number of decimals of a score in these steps, such as 3 for 0.005."""
        return len(self.value) - 2


class Anonymity(enum.StrEnum):
    """The period in which aliases replace team names, except for organizers and the team itself."""

    NONE = "none"
    UNTIL_REVEAL = "until_reveal"
    ALWAYS = "always"


class Visibility(enum.StrEnum):
    """Who can find and read a competition; `unlisted` ones are only for participants and organizers."""

    PUBLIC = "public"
    UNLISTED = "unlisted"

    def is_readable(self, *, takes_part: bool, organizes: bool) -> bool:
        """Return whether a user may read the competition, in any phase."""
        return self is Visibility.PUBLIC or takes_part or organizes


class Field(enum.StrEnum):
    """The fields of competitions, teams, submissions and standings that are subject to visibility rules."""

    COMPETITION = "competition"
    """Texts, dates, limits, the metric with its identities, and the number of rows in each split."""
    ENTRY_CODE = "entry_code"
    LABELS = "labels"
    """The labels and identities of rows, and any counts of them."""
    SPLITS = "splits"
    """The assignment of rows to the public and the private split."""

    TEAM = "team"
    """The name, members, creation time, number of scored submissions, and time of the latest one."""
    TEAM_AFFAIRS = "team_affairs"
    """Invitations, merge requests, and the reason for a disqualification."""
    ALLOWANCE = "allowance"
    """The team's usage of its limits, and the remaining allowance."""
    SELECTION = "selection"
    """The submissions selected by the team, and the submissions that would currently compete."""

    PUBLIC_RANK = "public_rank"
    """The rank and its change, and the history of the team's best score."""
    PUBLIC_SCORE = "public_score"
    """The public score as shown by the feedback mode, for example as a band."""
    PUBLIC_EXACT = "exact_score"
    """The exact public score with all decimals."""
    PUBLIC_TERMS = "public_terms"
    PRIVATE_RANK = "private_rank"
    """The rank, and the rank that another submission would have had."""
    PRIVATE_SCORE = "private_score"
    PRIVATE_TERMS = "private_terms"
    COUNTED = "counted"
    """The submission that represents the team on the private leaderboard."""

    FILE = "file"
    """The submitted file with its name, description, status, problems, notes and incident."""
    PUBLIC_IDENTITIES = "public_identities"
    """The AUCs of each identity, and the losses computed from the displayed AUCs; for other metrics, the rows
    and values of each group. The average equality gaps (AEGs) are a separate field."""
    PUBLIC_GAPS = "public_gaps"
    PUBLIC_DIFFERENCES = "public_differences"
    """The rounded standard error of the difference between two files of a team."""
    PRIVATE_DIFFERENCES = "private_differences"
    PRIVATE_IDENTITIES = "private_identities"
    PRIVATE_GAPS = "private_gaps"
    """The average equality gaps (AEGs) on the private rows."""


_PHASES = tuple(Phase)
_ALWAYS, _REVEAL, _NEVER = Phase.SCHEDULED, Phase.REVEALED, None

# The first phase in which a field is visible to the public, participants, the team and organizers.
_TABLE: Mapping[Field, tuple[Phase | None, Phase | None, Phase | None, Phase | None]] = {
    Field.COMPETITION: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.ENTRY_CODE: (_NEVER, _NEVER, _NEVER, _ALWAYS),
    Field.LABELS: (_NEVER, _NEVER, _NEVER, _ALWAYS),
    Field.SPLITS: (_NEVER, _NEVER, _NEVER, _ALWAYS),
    Field.TEAM: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.TEAM_AFFAIRS: (_NEVER, _NEVER, _ALWAYS, _ALWAYS),
    Field.ALLOWANCE: (_NEVER, _NEVER, _ALWAYS, _ALWAYS),
    Field.SELECTION: (_NEVER, _NEVER, _ALWAYS, _ALWAYS),
    Field.PUBLIC_RANK: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.PUBLIC_SCORE: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.PUBLIC_EXACT: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.PUBLIC_TERMS: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.PRIVATE_RANK: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PRIVATE_SCORE: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PRIVATE_TERMS: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.COUNTED: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.FILE: (_NEVER, _NEVER, _ALWAYS, _ALWAYS),
    Field.PUBLIC_IDENTITIES: (_REVEAL, _REVEAL, _ALWAYS, _ALWAYS),
    Field.PUBLIC_GAPS: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PUBLIC_DIFFERENCES: (_ALWAYS, _ALWAYS, _ALWAYS, _ALWAYS),
    Field.PRIVATE_DIFFERENCES: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PRIVATE_IDENTITIES: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PRIVATE_GAPS: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
}
_COLUMNS = {viewer: column for column, viewer in enumerate(Viewer)}

_ALL_BUT_THE_SCORE = frozenset({Field.PUBLIC_DIFFERENCES, Field.PUBLIC_IDENTITIES, Field.PUBLIC_TERMS})
_COARSE = _ALL_BUT_THE_SCORE | {Field.PUBLIC_EXACT}
# Fields that each mode hides from everyone except organizers until the reveal.
_WITHHELD: Mapping[Feedback, frozenset[Field]] = {
    Feedback.OPEN: frozenset(),
    Feedback.SCORE: _ALL_BUT_THE_SCORE,
    Feedback.TIERED: _COARSE,
    Feedback.BLIND: _COARSE | {Field.PUBLIC_RANK, Field.PUBLIC_SCORE},
}


def visible(field: Field, viewer: Viewer, phase: Phase, feedback: Feedback) -> bool:
    """Return whether `viewer` may see `field` in `phase` with this feedback mode."""
    if phase is not _REVEAL and viewer is not Viewer.ORGANIZER and field in _WITHHELD[feedback]:
        return False
    since = _TABLE[field][_COLUMNS[viewer]]
    return since is not None and _PHASES.index(phase) >= _PHASES.index(since)


def visible_fields(viewer: Viewer, phase: Phase, feedback: Feedback) -> frozenset[Field]:
    """Return the fields that `viewer` may see in `phase` with this feedback mode."""
    return frozenset(field for field in Field if visible(field, viewer, phase, feedback))
