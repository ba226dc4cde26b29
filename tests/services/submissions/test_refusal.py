"""Rules for accepting uploads, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from grader.models import (
    Competition,
    CompetitionState,
    EntryMode,
    Participation,
    RequestState,
    Role,
    ScoringVersion,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.services.submissions.refusal import (
    IdenticalFile,
    kind,
    refusal,
)
from grader.services.submissions.situation import Repeats, SentFile, Situation
from grader.services.teams.limits import (
    Allowance,
)

HOUR = timedelta(hours=1)
MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
OPEN = {"state": CompetitionState.PUBLISHED, "opens_at": MOMENT, "closes_at": MOMENT + HOUR}
OVER = {"revealed_at": MOMENT, "state": CompetitionState.REVEALED}
FULL = Allowance(
    max_daily=1,
    max_total=1,
    max_pending=1,
    max_rejections=1,
    used_today=1,
    used_total=1,
    pending=1,
    rejections_full_since=MOMENT,
    resets_at=MOMENT + HOUR,
    granted_today=0,
)
FREE = replace(FULL, used_today=0, used_total=0, pending=0, rejections_full_since=None)


def situation(*, of_competition=None, **facts):
    """Return the situation of a team member whose file is accepted in an open competition."""
    competition = Competition(
        **OPEN | {"entry_mode": EntryMode.OPEN, "rules": "", "rules_version": 1} | (of_competition or {})
    )
    if "live_scoring_version" not in (of_competition or {}):
        competition.live_scoring_version = ScoringVersion()
    joined = Participation(state=RequestState.ACCEPTED, rules_version=1)
    known = {
        "now": MOMENT,
        "competition": competition,
        "role": None,
        "participation": joined,
        "team": Team(id=3, name="Three"),
        "competes_in": None,
        "allowance": FREE,
        "file": SentFile("0" * 64, 9),
        "earlier": Repeats(),
    }
    return Situation(**known | facts)


EARLIER = Submission(id=7, sha256="1" * 64, submitted_at=MOMENT, status=SubmissionStatus.SCORED)
# Reasons to reject a file, in the order in which they are reported, and the facts that cause each.
FAULTS: list[tuple[str, dict[str, Any]]] = [
    ("nothing_to_score", {"live_scoring_version": None}),
    ("competition_archived", {"state": CompetitionState.ARCHIVED}),
    ("idempotency_key_reused", {"earlier": "key"}),
    ("submissions_paused", {"paused_at": MOMENT, "pause_message": "A pause."}),
    ("not_admitted", {"participation": Participation(state=RequestState.REFUSED)}),
    ("identical_file", {"earlier": "bytes"}),
    ("total_limit_reached", {"used_total": 1}),
    ("daily_limit_reached", {"used_today": 1}),
    ("too_many_pending", {"pending": 1}),
    ("too_many_rejections", {"rejections_full_since": MOMENT}),
    ("competes_elsewhere", {"competes_in": Team(name="Three")}),
]


def with_faults(faults):
    """Return the situation for a file to which all these reasons apply."""
    given = {name: value for _, fault in faults for name, value in fault.items()}
    asked = {name for name, _ in faults}
    earlier = Repeats(
        of_key=EARLIER if "idempotency_key_reused" in asked else None,
        of_bytes=EARLIER if "identical_file" in asked else None,
    )
    used = {name: value for name, value in given.items() if hasattr(FREE, name)}
    facts = {name: given[name] for name in ("participation", "competes_in") if name in given}
    names = {"live_scoring_version", "state", "paused_at", "pause_message"}
    return situation(
        of_competition={name: value for name, value in given.items() if name in names},
        allowance=replace(FREE, **used),
        earlier=earlier,
        **facts,
    )


@pytest.mark.parametrize("place", range(len(FAULTS)), ids=[name for name, _ in FAULTS])
def test_first_of_several_reasons_is_reported(place):
    assert refusal(with_faults(FAULTS[place:])).public_name == FAULTS[place][0]


def test_files_of_organizers_are_accepted_at_any_time_and_use_no_limit():
    test = situation(
        of_competition={"paused_at": MOMENT, "opens_at": MOMENT + HOUR},
        role=Role.VIEWER,
        participation=None,
        allowance=FULL,
    )
    assert (refusal(test), kind(test)) == (None, SubmissionKind.HIDDEN)
    assert type(refusal(replace(test, earlier=Repeats(of_bytes=EARLIER)))) is IdenticalFile
    archived = situation(of_competition={"state": CompetitionState.ARCHIVED}, role=Role.OWNER)
    assert refusal(archived).public_name == "competition_archived"


def test_repeated_request_is_not_rejected_for_later_events():
    repeated = situation(
        of_competition={"closes_at": MOMENT},
        allowance=FULL,
        participation=Participation(state=RequestState.REFUSED),
        file=SentFile(EARLIER.sha256, 9, idempotency_key="one"),
        earlier=Repeats(of_key=EARLIER, of_bytes=EARLIER),
    )
    assert refusal(repeated) is None
    assert repeated.repeated is EARLIER
    closed = refusal(replace(repeated, earlier=Repeats(of_bytes=EARLIER)))
    assert closed.public_name == "competition_closed"
    changed = replace(repeated, file=SentFile("2" * 64, 9, idempotency_key="one"))
    assert (refusal(changed).public_name, changed.repeated) == ("idempotency_key_reused", None)


@pytest.mark.parametrize("key", ["", "x" * 129, "a\nb", "ä"])
def test_invalid_key_is_reported_before_the_close(key):
    file = SentFile("0" * 64, 9, idempotency_key=key)
    closed = situation(of_competition={"closes_at": MOMENT}, file=file)
    assert refusal(closed).public_name == "invalid_idempotency_key"


def test_identical_file_is_accepted_on_request():
    assert (
        refusal(situation(file=SentFile("1" * 64, 9, again=True), earlier=Repeats(of_bytes=EARLIER))) is None
    )


def test_same_rules_without_a_file_tell_whether_one_could_be_sent():
    assert refusal(situation(file=None)) is None
    assert refusal(situation(file=None, allowance=FULL)).public_name == "total_limit_reached"
    closed = situation(file=None, of_competition={"closes_at": MOMENT})
    assert refusal(closed).public_name == "competition_closed"


def test_non_participant_may_upload_if_entry_is_unrestricted():
    outside = {"participation": None, "team": None}
    assert refusal(situation(**outside)) is None
    asked = {"entry_mode": EntryMode.CODE, "entry_code": "x"}
    assert refusal(situation(of_competition=asked, **outside)).public_name == "not_joined"
    too_late = {"entry_deadline": MOMENT}
    assert refusal(situation(of_competition=too_late, **outside)).public_name == "entry_closed"


@pytest.mark.parametrize(
    ("of_competition", "after", "made"),
    [
        (OPEN, timedelta(), SubmissionKind.NORMAL),
        (OPEN, -timedelta(microseconds=1), "competition_not_open"),
        (OPEN, HOUR, "competition_closed"),
        (OPEN | {"paused_at": MOMENT}, timedelta(), "submissions_paused"),
        (OPEN | {"paused_at": MOMENT}, HOUR, "competition_closed"),
        (OPEN | {"paused_at": MOMENT}, -HOUR, "competition_not_open"),
        (OPEN | OVER | {"takes_late_submissions": True}, timedelta(), SubmissionKind.LATE),
        (OPEN | OVER | {"takes_late_submissions": False}, timedelta(), "competition_closed"),
        (OPEN | OVER | {"takes_late_submissions": True, "paused_at": MOMENT}, HOUR, "submissions_paused"),
    ],
)
def test_kind_of_a_file_follows_from_its_time(of_competition, after, made):
    found = situation(of_competition=of_competition, now=MOMENT + after)
    if isinstance(made, SubmissionKind):
        assert (refusal(found), kind(found)) == (None, made)
    else:
        assert refusal(found).public_name == made
