"""Settings of a competition as the kaggle command knows them: read, and change those that are ours."""

from collections.abc import Mapping
from typing import Any

from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Role
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions import pauses
from grader.services.competitions import settings as competition_settings
from webapp.http.organizer_access import actor
from webapp.http.parameters import SentFields
from webapp.http.site import current_site
from webapp.kaggle_protocol.organizers import Unsettable, organized
from webapp.kaggle_protocol.protocol import COMPETITIONS, asked_time, call, time_text

PAUSED = "Submissions are paused by an organizer."
PAUSE = "disableSubmissions"
TEXTS = {"title": "title", "briefDescription": "overview"}
TIMES = {
    "deadline": "closes_at",
    "teamMergerExplicitDeadline": "merger_deadline",
    "prohibitNewEntrantsExplicitDeadline": "entry_deadline",
}


@call(COMPETITIONS, "GetCompetitionSettings", Scope.ORGANIZE)
def get_competition_settings(sent: SentFields) -> ResponseReturnValue:
    """Return the settings of a competition, for organizers."""
    with current_site().database.read() as session:
        return _told(organized(session, sent, Role.VIEWER))


@call(COMPETITIONS, "UpdateCompetitionSettings", Scope.ORGANIZE)
def update_competition_settings(sent: SentFields) -> ResponseReturnValue:
    """Change what the mask names, and return all settings; what is named and absent becomes its default.

    Raises Unsettable for what this site does not have, or sets elsewhere.
    """
    given, names = sent.within("settings"), _masked(sent.text("updateMask"))
    with current_site().database.write() as session:
        competition, now = organized(session, sent, Role.EDITOR), db.now(session)
        _require_settable(competition, given, names)
        changes: dict[str, Any] = {TEXTS[name]: given.text(name) for name in names if name in TEXTS}
        changes |= {TIMES[name]: asked_time(given, name) for name in names if name in TIMES}
        competition_settings.change(session, competition=competition, changes=changes, actor=actor(), now=now)
        if PAUSE in names:
            _pause(session, competition, is_wanted=given.flag(PAUSE, default=False))
        session.refresh(competition)
        return _told(competition)


def _masked(mask: str) -> list[str]:
    return [name.strip() for name in mask.split(",") if name.strip()]


def _require_settable(competition: Competition, given: SentFields, names: list[str]) -> None:
    """Raise Unsettable for what would become other than it is, and cannot be set here."""
    now_told = _told(competition)
    refused = [
        name
        for name in names
        if name not in (*TEXTS, *TIMES, PAUSE) and (given.value(name) or None) != (now_told.get(name) or None)
    ]
    if refused:
        raise Unsettable(
            f"{', '.join(refused)} cannot be set with this command. It sets the title, the description, the "
            "deadlines, and whether submissions are paused. The metric, the limits, who may join, the "
            "feedback and the reveal are on the page “Settings”, and in `fairboard competition apply`."
        )


def _pause(session: Any, competition: Competition, *, is_wanted: bool) -> None:
    if is_wanted and competition.paused_at is None:
        pauses.pause(session, competition=competition, message=PAUSED, actor=actor())
    if not is_wanted and competition.paused_at is not None:
        pauses.resume(session, competition=competition, actor=actor())


def _told(competition: Competition) -> Mapping[str, Any]:
    """Return all settings; of what is not here, that it is off."""
    return {
        "competitionName": competition.slug,
        **{name: getattr(competition, setting) for name, setting in TEXTS.items()},
        **{name: time_text(getattr(competition, setting)) for name, setting in TIMES.items()},
        PAUSE: competition.paused_at is not None,
        "rulesRequired": bool(competition.rules),
        "hasLeaderboard": True,
        "hasScripts": False,
        "onlyAllowKernelSubmissions": False,
        "finalLeaderboardHasBeenVerified": competition.finalized_at is not None,
    }
