"""Final selection: limit, pending files, deadline, submissions that would compete."""

import csv
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from grader.models import RosterEntry, Score, ScoringJob, Submission, SubmissionKind, Team
from grader.services.closing import close as closing
from grader.services.closing import tables
from grader.services.competitions import acting, lookup, phases
from grader.services.site.log import Actor
from grader.services.submissions import selections
from grader.services.submissions.selections import Reason
from tests.fixtures.refusals import refused
from tests.fixtures.services import as_person

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
TESTS = Actor(None, "tests")
SECOND = timedelta(seconds=1)


def send(service, competition, *skills):
    """Upload and score files of increasing skill; return their submissions' ids."""
    accepted = [
        service.submit(competition, seed=place, skill=skill, after=place * MINUTE)
        for place, skill in enumerate(skills)
    ]
    service.score(*accepted)
    return [each.submission.id for each in accepted]


def pick(service, submission_id, *, user="ada", now=None, **options):
    person = service.user(user)
    with service.database.write() as session:
        own = session.get_one(Submission, submission_id).competition
        act = as_person(session, own, person, now=now or service.now)
        return selections.select(act, submission_id=submission_id, **options)


def choice(service, competition, submission_id):
    with service.database.read() as session:
        team = session.get_one(Submission, submission_id).team
        own = service.reload(competition)
        return selections.would_count(session, competition=own, team=team, now=service.now)


def test_selected_file_competes_regardless_of_its_score_and_free_slots_are_filled(service):
    competition = service.competition()
    low, high, _ = send(service, competition, 0.0, 3.0, 1.0)
    would = choice(service, competition, low)
    assert list(would.reasons.values()) == [Reason.AUTOMATIC] * 2 and low not in would.reasons
    assert (would.limit, would.picked_ids, would.excess) == (2, (), 0)
    assert pick(service, low).is_selected
    assert choice(service, competition, low).reasons == {low: Reason.PICKED, high: Reason.AUTOMATIC}
    pick(service, low, is_selected=False)
    assert low not in choice(service, competition, low).reasons


def test_rejection_of_a_selected_file_frees_its_slot(service):
    competition = service.competition()
    _, high, middle = send(service, competition, 0.0, 3.0, 1.0)
    bad = service.submit(competition, csv=b"nonsense")
    pick(service, bad.submission.id)
    service.score(bad)
    would = choice(service, competition, high)
    assert would.reasons == {high: Reason.AUTOMATIC, middle: Reason.AUTOMATIC}
    assert would.picked_ids == ()
    pick(service, bad.submission.id, is_selected=False)
    with refused("not_selectable", match="was rejected"):
        pick(service, bad.submission.id)


def test_only_own_competing_files_up_to_the_limit_are_selected_before_the_close(service):
    competition = service.competition(selection_count=1, closes_at=service.now + 60 * MINUTE)
    first, second, hidden = send(service, competition, 0.0, 3.0, 1.0)
    with service.database.write() as session:
        session.get_one(Submission, hidden).kind = SubmissionKind.HIDDEN
    for _ in range(2):  # Selecting a file twice has no further effect.
        pick(service, first, now=service.now + 59 * MINUTE)
    with refused("too_many_selected", match=f"You can select at most 1 submission, and #{first} is"):
        pick(service, second)
    with refused("not_selectable", match="does not compete"):
        pick(service, hidden)
    with refused("unknown_submission"):
        pick(service, first, user="eve")
    with refused("selection_closed", match="closed with the competition"):
        pick(service, first, is_selected=False, now=service.now + 60 * MINUTE)


def test_too_many_selections_after_a_merge_are_reported_and_the_best_compete(service):
    competition = service.competition()
    low, high, middle = send(service, competition, 0.0, 3.0, 1.0)
    with service.database.write() as session:
        for submission_id in (low, high, middle):
            session.get_one(Submission, submission_id).is_selected = True
    would = choice(service, competition, low)
    assert would.excess == 1
    assert would.reasons == {high: Reason.PICKED, middle: Reason.PICKED}


@pytest.mark.parametrize(("scored", "waiting", "shown"), [(1, 2, 1), (0, 3, 2), (2, 1, 0), (3, 1, 0)])
def test_pending_selections_beyond_the_free_slots_do_not_wait(service, scored, waiting, shown):
    competition = service.competition()
    best, *_ = picked = send(service, competition, 3.0, 2.0, 1.0)
    picked = picked[:scored]
    unscored = [service.submit(competition, seed=90 + place).submission.id for place in range(waiting)]
    with service.database.write() as session:
        for submission_id in (*picked, *unscored):
            session.get_one(Submission, submission_id).is_selected = True
    would = choice(service, competition, best)
    waits = dict.fromkeys(unscored[:shown], Reason.PICKED_WAITING)
    assert would.reasons == dict.fromkeys(picked[: 2 - shown], Reason.PICKED) | waits
    assert would.excess == scored + waiting - 2


def reopen(service, competition, until, *, now):
    with service.database.write() as session:
        act = acting.begin(session, competition=competition, actor=Actor.shell(), now=now)
        selections.reopen(act, until=until, reason="A mail was late.")


def test_reopened_selection_ends_at_its_deadline_and_not_after_it(service):
    close = service.now + 60 * MINUTE
    competition = service.competition(closes_at=close)
    (only,) = send(service, competition, 1.0)
    end = close + 60 * MINUTE
    reopen(service, competition, end, now=close)
    reopened = service.reload(competition)
    assert selections.is_open(reopened, end - timedelta(microseconds=1), None)
    assert not selections.is_open(reopened, end, None)
    assert selections.closes_at(reopened, None) == end
    assert phases.selection_open_until(reopened, end - timedelta(microseconds=1)) == end
    assert phases.selection_open_until(reopened, end) is None
    pick(service, only, now=end - timedelta(microseconds=1))
    with refused("selection_closed", match=rf"closed at {end:%-d %b %Y, %H:%M:%S} UTC"):
        pick(service, only, is_selected=False, now=end)


def test_selection_can_be_reopened_only_until_a_later_time(service):
    close = service.now + 60 * MINUTE
    competition = service.competition(closes_at=close)
    for until, now in ((close, service.now), (close + MINUTE, close + MINUTE), (close, close + MINUTE)):
        with refused("selection_stays", match="a time in the future and after the close"):
            reopen(service, competition, until, now=now)
    assert service.reload(competition).selection_deadline is None
    reopen(service, competition, close + MINUTE + SECOND, now=close + MINUTE)
    assert service.reload(competition).selection_deadline == close + MINUTE + SECOND


def test_only_scores_of_the_live_version_determine_automatic_choices(service, prepare_version):
    competition = service.competition(selection_count=1)
    low, high = send(service, competition, 0.0, 3.0)
    version = prepare_version(competition)
    with service.database.write() as session:
        jobs = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version.id)).all()
        job_ids = [job.id for job in jobs]
    service.run(*job_ids)
    with service.database.write() as session:
        scores = select(Score).where(Score.scoring_version_id == version.id, Score.submission_id == low)
        for score in session.scalars(scores):
            session.execute(update(Score).where(Score.id == score.id).values(score=1.0))
    assert choice(service, competition, low).reasons == {high: Reason.AUTOMATIC}


def test_a_team_with_an_extension_submits_later_and_its_grade_states_the_delay(service):
    competition = service.competition(closes_at=service.now + MINUTE)
    close, until = competition.closes_at, competition.closes_at + 3 * DAY
    sent, others = service.submit(competition), service.submit(competition, user="bob")
    service.score(sent, others)
    with service.database.write() as session:
        team = session.get_one(Submission, sent.submission.id).team
        original = [["SIS ID", "a1"], ["score", "7"]]
        owner = {"competition_id": competition.id, "user_id": service.user("ada").id}
        session.add(RosterEntry(**owner, name="Ada", original=original))

    def extend(until: datetime, after: timedelta = timedelta()):
        with service.database.write() as session:
            act = acting.begin(session, competition=competition, actor=TESTS, now=service.now + after)
            selections.extend(act, team=session.get_one(Team, team.id), until=until, reason="Ill.")

    for moment in (close, service.now - MINUTE):
        with refused("selection_stays"):
            extend(moment)
    extend(until + 9 * DAY)
    extend(until)
    late = service.submit(competition, skill=9.0, after=DAY + 2 * MINUTE)
    assert late.submission.kind is SubmissionKind.NORMAL
    service.score(late)
    pick(service, late.submission.id, now=service.now + DAY + 2 * MINUTE)
    with refused("selection_closed"):
        pick(service, others.submission.id, user="bob", now=service.now + DAY + 2 * MINUTE)
    for name, after in (("bob", DAY), ("ada", 3 * DAY + 2 * MINUTE)):
        with refused("competition_closed"):
            service.submit(competition, user=name, seed=7, after=after)
    with refused("selection_open"):
        service.act(closing.reveal, competition=competition, after=2 * DAY)
    service.act(closing.reveal, competition=competition, after=4 * DAY)
    with refused("selection_stays"):
        extend(until, after=4 * DAY)
    with service.database.read() as session:
        current = lookup.get(session, slug=competition.slug)
        kind = {"kind": tables.TableKind.GRADES}
        (row,) = csv.DictReader("".join(tables.write(session, competition=current, **kind)).splitlines())
    assert list(row)[:3] == ["SIS ID", "score", "team_name"]
    assert (row["SIS ID"], row["score"], row["rank"], row["days_late"]) == ("a1", "7", "1", "2")
    assert row["fairboard score"] and row["submitted_at"].endswith("Z")
