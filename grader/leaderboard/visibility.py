"""Which viewer sees which field of a submission in which phase: one table, asked by every way out.

Hidden means unreachable: what this table does not grant is not read from the database for that viewer.
"""

import enum
from collections.abc import Mapping


class Phase(enum.StrEnum):
    """Where a competition is in its life."""

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


class Field(enum.StrEnum):
    """What a submission, or the standing it gives its team, can tell."""

    FILE = "file"
    """File name, description, status, problems, notes: the submission as such."""
    PUBLIC_SCORE = "public_score"
    PUBLIC_TERMS = "public_terms"
    PUBLIC_IDENTITIES = "public_identities"
    PRIVATE_SCORE = "private_score"
    PRIVATE_TERMS = "private_terms"
    PRIVATE_IDENTITIES = "private_identities"


_EVERYTHING = frozenset(Field)
_BOARD = frozenset({Field.PUBLIC_SCORE, Field.PUBLIC_TERMS})
_OWN = _BOARD | {Field.FILE, Field.PUBLIC_IDENTITIES}
_OPENED = _EVERYTHING - {Field.FILE}

_TABLE: Mapping[Phase, Mapping[Viewer, frozenset[Field]]] = {
    **{
        phase: {
            Viewer.PUBLIC: _BOARD,
            Viewer.PARTICIPANT: _BOARD,
            Viewer.TEAM: _OWN,
            Viewer.ORGANIZER: _EVERYTHING,
        }
        for phase in (Phase.SCHEDULED, Phase.OPEN, Phase.CLOSED)
    },
    Phase.REVEALED: {
        Viewer.PUBLIC: _OPENED,
        Viewer.PARTICIPANT: _OPENED,
        Viewer.TEAM: _EVERYTHING,
        Viewer.ORGANIZER: _EVERYTHING,
    },
}


def visible_fields(viewer: Viewer, phase: Phase) -> frozenset[Field]:
    """Return the fields that `viewer` sees in `phase`."""
    return _TABLE[phase][viewer]


def visible(field: Field, viewer: Viewer, phase: Phase) -> bool:
    """Tell whether `viewer` sees `field` in `phase`."""
    return field in visible_fields(viewer, phase)
