"""Visibility rules: which viewer sees which field in which phase and feedback mode.

Pages, JSON, exports, charts and e-mails carry these fields and no others. Hidden means unreachable: what the
table does not grant a viewer is not read from the database for that viewer, and nothing that the viewer sees
is chosen, counted or sorted by it.
"""

import enum
from collections.abc import Mapping


class Phase(enum.StrEnum):
    """Where a competition is in its life; what is revealed as provisional is seen as what is final."""

    SCHEDULED = "scheduled"
    OPEN = "open"
    CLOSED = "closed"
    REVEALED = "revealed"


class Viewer(enum.StrEnum):
    """Whose eyes: anybody, a participant looking at others, the owning team, an organizer."""

    PUBLIC = "public"
    PARTICIPANT = "participant"
    TEAM = "team"
    ORGANIZER = "organizer"


class Feedback(enum.StrEnum):
    """What a competition shows of its scores before the reveal; organizers see everything in each mode.

    `open`: everybody the public score and its four terms, a team also the public table of its own files;
    `terms`: no tables; `score`: the public score alone, with all its decimals.

    The others are coarse. They show no terms, no tables, and of the score, in a step that the organizer sets,
    `tiered` the band it lies in, `ladder` only what is clearly better than the team's best so far, `noised`
    the score with noise, and `blind` nothing.
    """

    OPEN = "open"
    TERMS = "terms"
    SCORE = "score"
    TIERED = "tiered"
    LADDER = "ladder"
    NOISED = "noised"
    BLIND = "blind"

    @property
    def is_coarse(self) -> bool:
        """Whether what is shown is something else than the score itself."""
        return self not in (Feedback.OPEN, Feedback.TERMS, Feedback.SCORE)

    @property
    def has_step(self) -> bool:
        """Whether it shows the score in steps, of a size that the organizer sets."""
        return self in (Feedback.TIERED, Feedback.LADDER, Feedback.NOISED)


USUAL_FEEDBACK = Feedback.OPEN
"""The mode of a new competition: participants see the terms and identity tables of their files."""


class Step(enum.StrEnum):
    """The step of a coarse mode: band width, improvement that a ladder requires, or spread of the noise."""

    OF_0_0005 = "0.0005"
    OF_0_001 = "0.001"
    OF_0_002 = "0.002"
    OF_0_005 = "0.005"
    OF_0_01 = "0.01"
    OF_0_02 = "0.02"
    OF_0_05 = "0.05"

    @property
    def units(self) -> int:
        """The step in units of 0.00001."""
        return round(float(self) * 100_000)

    @property
    def decimals(self) -> int:
        """The decimals of its multiples: a score in steps of 0.005 has three."""
        return len(self.value) - 2


class Field(enum.StrEnum):
    """A fact about a competition, a team, a submission or a standing that a viewer may or may not see."""

    COMPETITION = "competition"
    """Texts, dates, limits, metric and its identities, and how many rows each split has."""
    ENTRY_CODE = "entry_code"
    LABELS = "labels"
    """What is true of a row: its label and identities, and any count of them."""
    SPLITS = "splits"
    """Which rows are public and which private."""

    TEAM = "team"
    """Name, members, since when it is there, how many files were scored and when the last of them came."""
    TEAM_AFFAIRS = "team_affairs"
    """Invitations, merge requests, the reason of a disqualification."""
    ALLOWANCE = "allowance"
    """What the team has used of its limits and what is left."""
    SELECTION = "selection"
    """Which submissions the team picked, and which would count now."""

    PUBLIC_RANK = "public_rank"
    """The rank with its change, and how it came about: the team's best score over time."""
    PUBLIC_SCORE = "public_score"
    """What the mode of feedback shows of it: in a coarse mode a band, a new best, a score with noise."""
    PUBLIC_EXACT = "exact_score"
    """The public score itself, with all its decimals."""
    PUBLIC_TERMS = "public_terms"
    PRIVATE_RANK = "private_rank"
    """The rank, the one that another submission would have had, and the final standings."""
    PRIVATE_SCORE = "private_score"
    PRIVATE_TERMS = "private_terms"
    COUNTED = "counted"
    """Which submission stands for the team on the private leaderboard."""

    FILE = "file"
    """The submission as such: its bytes, name, description, status, problems, notes and incident, the
    histogram of its predictions and their agreement with the team's earlier files, all rows together."""
    PUBLIC_IDENTITIES = "public_identities"
    """The AUCs of each identity, and what of them, as displayed, holds the score back; the gaps (AEGs) are a
    field of their own."""
    PUBLIC_GAPS = "public_gaps"
    PRIVATE_IDENTITIES = "private_identities"
    PRIVATE_GAPS = "private_gaps"
    """As the public ones. What a diagnosis tells beyond these fields is organizers' alone until they publish
    it, and cannot be published before the reveal. The same is true of statistical ties, unless the
    competition marks them after the reveal."""


_PHASES = tuple(Phase)
_ALWAYS, _REVEAL, _NEVER = Phase.SCHEDULED, Phase.REVEALED, None

# From which phase on: anybody, a participant, the team, an organizer.
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
    Field.PRIVATE_IDENTITIES: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
    Field.PRIVATE_GAPS: (_REVEAL, _REVEAL, _REVEAL, _ALWAYS),
}
_COLUMNS = {viewer: column for column, viewer in enumerate(Viewer)}

_ALL_BUT_THE_SCORE = frozenset({Field.PUBLIC_IDENTITIES, Field.PUBLIC_TERMS})
_COARSE = _ALL_BUT_THE_SCORE | {Field.PUBLIC_EXACT}
# What each mode keeps from all but organizers until the reveal, of what the table grants.
_WITHHELD: Mapping[Feedback, frozenset[Field]] = {
    Feedback.OPEN: frozenset(),
    Feedback.TERMS: frozenset({Field.PUBLIC_IDENTITIES}),
    Feedback.SCORE: _ALL_BUT_THE_SCORE,
    Feedback.TIERED: _COARSE,
    Feedback.LADDER: _COARSE,
    Feedback.NOISED: _COARSE,
    Feedback.BLIND: _COARSE | {Field.PUBLIC_RANK, Field.PUBLIC_SCORE},
}


def visible(field: Field, viewer: Viewer, phase: Phase, feedback: Feedback) -> bool:
    """Return whether `viewer` sees `field` in `phase` of a competition that gives this feedback."""
    if phase is not _REVEAL and viewer is not Viewer.ORGANIZER and field in _WITHHELD[feedback]:
        return False
    since = _TABLE[field][_COLUMNS[viewer]]
    return since is not None and _PHASES.index(phase) >= _PHASES.index(since)


def visible_fields(viewer: Viewer, phase: Phase, feedback: Feedback) -> frozenset[Field]:
    """Return the fields that `viewer` sees in `phase` of a competition that gives this feedback."""
    return frozenset(field for field in Field if visible(field, viewer, phase, feedback))
