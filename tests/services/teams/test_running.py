"""Organizers' tools: lists, retries, identical files, exports, queue health."""

import csv
import io
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import (
    AuditEntry,
    Mail,
    Standing,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.services.closing import tables
from grader.services.closing.tables import TableKind
from grader.services.competitions import lookup
from grader.services.submissions import decisions, scoring_queue, submission_search
from grader.services.submissions.submission_search import SubmissionFilter, SubmissionSort
from grader.services.teams import moderation, team_search, teams
from tests.fixtures.refusals import refused

HOUR = timedelta(hours=1)


def find(service, competition, **wanted):
    with service.database.read() as session:
        here = lookup.get(session, slug=competition.slug)
        page = submission_search.find(session, competition=here, wanted=SubmissionFilter(**wanted))
    return [line.submission.id for line in page.rows]


def export(service, competition, kind, **options):
    """Return the rows of an export."""
    with service.database.read() as session:
        here = lookup.get(session, slug=competition.slug)
        text = "".join(tables.write(session, competition=here, kind=kind, **options))
    return list(csv.DictReader(io.StringIO(text)))


def test_failed_submission_is_retried_with_a_new_set_of_attempts(service):
    competition = service.competition()
    broken, sound = service.submit(competition), service.submit(competition, seed=2)
    service.score(sound)
    service.fail(broken)
    with refused("nothing_failed"):
        service.act(scoring_queue.retry, competition=competition, submission_id=sound.submission.id)
    job_ids = service.act(scoring_queue.retry, competition=competition, submission_id=broken.submission.id)
    assert tuple(job_ids) == broken.job_ids
    assert service.submission(broken).status is SubmissionStatus.FAILED
    service.run(*job_ids)
    assert service.submission(broken).status is SubmissionStatus.SCORED


def test_all_failed_submissions_are_retried_at_once(service):
    competition = service.competition()
    for seed in range(3):
        service.fail(service.submit(competition, seed=seed))
    assert len(service.act(scoring_queue.retry, competition=competition)) == 3
    with refused("nothing_failed"):
        service.act(scoring_queue.retry, competition=competition)
    with service.database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action == "submission.retry")).all()
    assert [entry.subject for entry in entries] == ["3 failed submissions"]


def test_submissions_are_filtered_by_state_kind_team_and_text(service):
    competition = service.competition()
    ada = service.submit(competition)
    bob = service.submit(competition, user="Bob Ödegård", seed=2)
    wrong = service.submit(competition, csv=b"nonsense")
    service.score(ada, bob, wrong)
    service.act(
        decisions.mark,
        competition=competition,
        submission_id=ada.submission.id,
        kind=SubmissionKind.BENCHMARK,
    )
    ids = [each.submission.id for each in (ada, bob, wrong)]
    assert find(service, competition) == ids[::-1]
    assert find(service, competition, status=SubmissionStatus.REJECTED) == [ids[2]]
    assert find(service, competition, kind=SubmissionKind.BENCHMARK) == [ids[0]]
    assert find(service, competition, team_id=bob.submission.team_id) == [ids[1]]
    assert find(service, competition, text="ödegÅRD") == [ids[1]]
    assert find(service, competition, text=f"#{ids[2]}") == [ids[2]]
    assert find(service, competition, text=ada.submission.sha256) == [ids[0]]
    assert find(service, competition, text="submission.CSV") == ids[::-1]
    assert find(service, competition, text="100%_") == []


def test_submissions_are_sorted_by_score_with_unscored_ones_last(service):
    competition = service.competition()
    best, worst = service.submit(competition, skill=2.0), service.submit(competition, skill=0.0)
    service.score(best, worst)
    waiting = service.submit(competition, seed=3)
    ids = [each.submission.id for each in (best, worst, waiting)]
    for sort in (SubmissionSort.SCORE, SubmissionSort.PRIVATE_SCORE):
        assert find(service, competition, sort=sort) == ids
        assert find(service, competition, sort=sort, descending=False) == [ids[1], ids[0], ids[2]]


def test_teams_are_found_by_their_name_and_their_members(service):
    competition = service.competition()
    accepted = service.submit(competition)
    service.submit(competition, user="bob")
    service.act(moderation.rename, competition=competition, team="ada", name="Aces", reason="Asked for")
    with service.database.read() as session:
        for text, names in (("ACE", ["Aces"]), ("ada", ["Aces"]), ("", ["bob", "Aces"]), ("x", [])):
            page = team_search.find(session, competition=competition, text=text)
            assert [line.team.name for line in page.rows] == names
        line = team_search.get(session, competition=competition, team_id=accepted.submission.team_id)
    assert line.counts == {SubmissionStatus.PENDING: 1}
    assert [member.name for member in line.members] == ["ada"]


def test_renamed_team_sees_the_reason_and_the_log_omits_its_old_name(service):
    competition = service.competition()
    service.submit(competition, user="Offensive")
    service.submit(competition, user="bob")
    service.verify_addresses("Offensive")
    with refused("team_name_taken"):
        service.act(
            moderation.rename, competition=competition, team="Offensive", name="B0b", reason="It insults."
        )
    with refused("reason_needed"):
        service.act(moderation.rename, competition=competition, team="Offensive", name="Team 7", reason=" ")
    service.act(
        moderation.rename, competition=competition, team="Offensive", name="Team 7", reason="It insults."
    )
    with service.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "team.rename")).one()
        assert "Offensive" not in entry.public_text + entry.subject
        assert (entry.before, entry.after) == ({"name": "Offensive"}, {"name": "Team 7"})
        assert "It insults." in session.scalars(select(Mail.body)).one()
    with refused("unknown_team"):
        service.act(moderation.rename, competition=competition, team="Offensive", name="X", reason="y")
    with refused("name_fixed"):
        service.act(
            teams.rename, competition=competition, user=service.user("Offensive"), name="A better one"
        )


def test_disqualified_team_sees_the_reason_and_how_to_appeal(service):
    competition = service.competition()
    service.submit(competition)
    service.verify_addresses("ada")
    with service.database.write() as session:
        lookup.get(session, slug="toxicity").contact = "chairs@example.org"
    service.act(decisions.disqualify, competition=competition, team="ada", reason="Two accounts")
    service.act(decisions.reinstate, competition=competition, team="ada")
    with service.database.read() as session:
        first, second = session.scalars(select(Mail.body).order_by(Mail.id))
    assert "Two accounts" in first
    assert "To appeal, write to the organizers" in first
    assert "chairs@example.org" in first
    assert "is back on the leaderboards" in second


def test_test_submission_becomes_a_benchmark_and_is_never_ranked(service):
    competition = service.competition()
    with service.database.write() as session:
        session.add(
            Team(
                competition_id=competition.id,
                name="O",
                name_key="o",
                created_at=service.now,
                is_organizers=True,
            )
        )
    service.user("root", is_admin=True)
    accepted = service.submit(competition, user="root")
    service.score(accepted)
    given = {"submission_id": accepted.submission.id}
    service.act(decisions.mark, competition=competition, kind=SubmissionKind.BENCHMARK, **given)
    with refused("only_a_test"):
        service.act(decisions.mark, competition=competition, kind=SubmissionKind.NORMAL, **given)
    with pytest.raises(ValueError, match="cannot be marked as late"):
        service.act(decisions.mark, competition=competition, kind=SubmissionKind.LATE, **given)
    with service.database.read() as session:
        assert session.scalars(select(Standing)).all() == []


def test_identical_files_of_several_teams_are_listed_together(service):
    competition = service.competition()
    bob = service.submit(competition, user="bob")
    ada = [service.submit(competition, after=hours * HOUR) for hours in (1, 2)]
    service.submit(competition, user="eve", seed=9)
    service.submit(competition, user="eve", seed=8)
    service.user("root", is_admin=True)
    service.submit(competition, user="root", seed=9)
    assert find(service, competition, is_shared=True) == [each.submission.id for each in (*ada[::-1], bob)]


@pytest.mark.parametrize("chunk", [1, 500])
def test_exports_contain_everything(service, chunk, monkeypatch):
    monkeypatch.setattr(tables, "CHUNK", chunk)
    competition = service.competition()
    sent = [service.submit(competition, user=user, seed=seed) for seed, user in enumerate(("=ada", "bob"))]
    service.score(*sent)
    rows = export(service, competition, TableKind.SUBMISSIONS)
    assert [row["team"] for row in rows] == ["'=ada", "bob"]
    scores = export(service, competition, TableKind.SCORES)
    assert [row["split"] for row in scores] == ["public", "private"] * 2
    assert rows[0]["private_score"] == scores[1]["score"]
    assert {"female: bpsn_auc", "muslim: positives"} <= scores[0].keys()
    board = export(service, competition, TableKind.STANDINGS)
    assert [(row["split"], row["rank"]) for row in board] == [("public", "1"), ("public", "2")]
    service.act(decisions.disqualify, competition=competition, team="bob", reason="Two accounts")
    assert export(service, competition, TableKind.AUDIT)[-1]["action"] == "team.disqualify"


def test_export_without_rows_is_valid_and_one_without_a_version_is_rejected(service):
    competition = service.competition()
    assert export(service, competition, TableKind.SCORES) == []
    with refused("nothing_to_export"):
        export(service, competition, TableKind.SCORES, version_number=7)
