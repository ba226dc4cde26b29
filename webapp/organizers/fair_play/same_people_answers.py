"""The API's answers about what teams share: places of logins, people who moved, mergers."""

from grader.models import PlaceKind
from webapp.http.fields import Answer, Moment


class PlaceLogins(Answer):
    """How often and when a member of a team logged in from a shared place."""

    person: str
    team_id: int
    team: str
    login_count: int
    first_at: Moment
    last_at: Moment


class SharedPlaceAnswer(Answer):
    """An address or a browser that a few teams share; which one it is stays unknown."""

    kind: PlaceKind
    has_same_file: bool
    logins: list[PlaceLogins]


class SharedByMany(Answer):
    """An address or a browser that many teams share, which says nothing about any of them."""

    kind: PlaceKind
    team_count: int
    person_count: int


class MovedAnswer(Answer):
    """A person who sent files for a team and is in another one now."""

    person: str
    earlier_team_id: int
    team_id: int
    submission_count: int
    last_sent_at: Moment


class MergedAnswer(Answer):
    """A team that was merged into another."""

    team_id: int
    into_team_id: int
    at: Moment | None


class SamePeopleAnswer(Answer):
    """What teams share; `is_noted` is false where the operator has switched off that logins are noted."""

    is_noted: bool
    places: list[SharedPlaceAnswer]
    shared_by_many: list[SharedByMany]
    moved: list[MovedAnswer]
    merged: list[MergedAnswer]
