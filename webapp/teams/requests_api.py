"""API: who asks to join a competition, and the organizers' decisions."""

from typing import Any

from grader.models import Participation, Role
from grader.services.people import names
from grader.services.teams import admissions
from webapp.http.api import blueprint
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, act, organizers_operation

TAG = "running"


class EntryRequest(Answer):
    """A person who asks to join."""

    user_id: int
    name: str
    requested_at: Moment


class EntryRequestList(Answer):
    """Who waits for a decision, and who was refused."""

    waiting: list[EntryRequest]
    refused: list[EntryRequest]


class EntryDecision(Sent):
    """Whether a person is admitted, by name."""

    name: Text
    admit: bool


@blueprint.get(f"{DESK}/entries")
@organizers_operation(Role.VIEWER, answers=EntryRequestList, tag=TAG)
def entry_requests(slug: str) -> EntryRequestList:
    """List who asks to join, and who was refused."""
    with reading() as session:
        competition = competition_of(session, slug)
        return EntryRequestList(
            waiting=[_line(each) for each in admissions.waiting(session, competition=competition)],
            refused=[_line(each) for each in admissions.refused(session, competition=competition)],
        )


@blueprint.post(f"{DESK}/entries")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def decide_entry(slug: str, json: EntryDecision) -> Any:
    """Admit a person, or refuse them."""
    with reading() as session:
        user = names.get_user(session, name=json.name)
    act(slug, admissions.decide, user=user, admits=json.admit)
    return "", 204


def _line(found: Participation) -> EntryRequest:
    return EntryRequest(user_id=found.user_id, name=found.user.name, requested_at=found.requested_at)
