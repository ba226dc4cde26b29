"""Server-sent events for a team's submissions and leaderboard changes."""

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from flask import Response, g, request

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.services.accounts.api_tokens import Scope
from grader.services.leaderboards import changes
from grader.services.leaderboards.changes import Changed, Watcher
from webapp.http import lookups
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading
from webapp.http.long_polling import Seen, Waits
from webapp.http.site import current_site

HEARTBEAT_SECONDS = 5.0  # also the maximum time until a disconnected client is detected
RETRY_MILLISECONDS = 2000
STREAM_TYPE = "text/event-stream"
OVERLAP = timedelta(seconds=10)  # an event can be committed after its timestamp

_ID = re.compile(r"([0-9]{1,14})-([0-9a-f]{16})")


class NoPlaceToWait(ParticipantError):
    """The maximum number of waiting requests is reached."""

    public_name = "no_place_to_wait"
    kind = ErrorKind.NOT_YET

    def __init__(self, seconds: int) -> None:
        self.retry_after = timedelta(seconds=seconds)
        super().__init__(f"Too many requests are waiting for events. Try again in {seconds} seconds.")


@dataclass(frozen=True, slots=True)
class Place:
    """A client's position in the stream: query time and leaderboard version."""

    at: datetime
    version: str

    @classmethod
    def read(cls, text: str) -> "Place | None":
        """Parse a `Last-Event-ID`; return None if it is not valid."""
        found = _ID.fullmatch(text)
        if found is None:
            return None
        return cls(datetime.fromtimestamp(int(found[1]) / 1000, UTC), found[2])

    def __str__(self) -> str:
        return f"{int(self.at.timestamp() * 1000)}-{self.version}"


@dataclass
class Stream:
    """The events of one connection: the submissions in `first`, then events after `since`."""

    waits: Waits
    watcher: Watcher
    first: Sequence[Changed]
    since: datetime
    version: str = ""
    _sent: dict[int, str] = field(default_factory=dict)

    def events(self) -> Iterator[str]:
        """Yield events until the time limit or the end of the process; the client reconnects."""
        end = quiet_until = time.monotonic()
        end += self.waits.longest_seconds
        with self.waits.watching(self.watcher):
            yield f"retry: {RETRY_MILLISECONDS}\n\n"
            while True:
                news = [*self._news(self.waits.look())]
                yield from news
                if news:
                    quiet_until = time.monotonic() + HEARTBEAT_SECONDS
                elif time.monotonic() >= quiet_until:
                    quiet_until = time.monotonic() + HEARTBEAT_SECONDS
                    yield ": nothing new\n\n"
                if time.monotonic() >= end or self.waits.pause():
                    return

    def _news(self, seen: Seen) -> Iterator[str]:
        version = seen.boards.get(self.watcher.competition_id)
        if version is None or seen.now is None:
            return  # the query was executed before this connection was opened
        place = Place(seen.now, version)
        team_id = seen.teams.get(self.watcher)
        lately = [each for each in seen.changed if each.team_id == team_id and each.at >= self.since]
        for each in (*self.first, *lately):
            if self._sent.get(each.id) != each.status:
                self._sent[each.id] = each.status
                url = f"/api/v1/submissions/{each.id}"
                yield _event("submission", place, id=each.id, status=each.status.value, url=url)
        self.first = ()
        if version != self.version:
            self.version = version
            yield _event("board", place, version=version)


def _event(name: str, place: Place, **fields: object) -> str:
    return f"id: {place}\nevent: {name}\ndata: {json.dumps(fields)}\n\n"


@blueprint.get("/competitions/<slug>/events")
@operation(Scope.READ, tag="events", answers_file=STREAM_TYPE)
def events(slug: str) -> Response:
    """Stream events: `submission` of the user's team, and `board` when the leaderboard changes.

    The stream ends after at most one minute. Reconnect with the `id` of the last event as `Last-Event-ID`.
    """
    site, user_id = current_site(), g.user.id
    read_to = Place.read(request.headers.get("Last-Event-ID", ""))
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        team = lookups.own_team(session, competition)
        since = now if read_to is None else read_to.at - OVERLAP
        if team is None:
            first = []
        elif read_to is None:
            first = changes.pending_of(session, team_id=team.id)
        else:
            first = changes.changed_since(session, team_ids=[team.id], since=since)
    version = read_to.version if read_to else ""
    watcher = Watcher(competition.id, user_id, is_organizer=g.organizer_role is not None)
    stream = Stream(site.waits, watcher, first, since, version)
    headers = {"X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(mimetype=STREAM_TYPE, headers=headers)
    if not site.waits.take(user_id):
        raise NoPlaceToWait(site.waits.retry_after())
    response = Response(stream.events(), mimetype=STREAM_TYPE, headers=headers)
    response.call_on_close(lambda: site.waits.give_back(user_id))
    return response
