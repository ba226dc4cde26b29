"""API: what waits for the person's answer, in all competitions."""

from grader.services.accounts.api_tokens import Scope
from grader.services.teams.waiting import WaitingKind
from webapp.http import inbox
from webapp.http.api import blueprint, operation
from webapp.http.fields import Answer, Moment

TAG = "teams"


class WaitingItem(Answer):
    """What waits in a competition for `count` answers; `team` and `person` invite or ask to merge."""

    kind: WaitingKind
    competition: str
    count: int
    team: str | None
    person: str | None
    since: Moment


class WaitingList(Answer):
    """What waits, the longest wait first."""

    waiting: list[WaitingItem]


@blueprint.get("/waiting")
@operation(Scope.READ, answers=WaitingList, tag=TAG)
def waiting_list() -> WaitingList:
    """List what waits for an answer: invitations, merge requests, and what waits for organizers."""
    return WaitingList(
        waiting=[
            WaitingItem(
                kind=item.kind,
                competition=item.slug,
                count=item.count,
                team=item.team or None,
                person=item.person or None,
                since=item.since,
            )
            for item in inbox.items()
        ]
    )
