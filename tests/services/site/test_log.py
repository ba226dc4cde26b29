"""Audit log: entry contents, searches, protection against changes."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.exc import DBAPIError

from grader.models import AuditEntry, EntryMode, SubmissionKind, Team
from grader.services.closing import close
from grader.services.competitions import acting, settings
from grader.services.competitions.acting import Act
from grader.services.identity import accounts
from grader.services.site import log
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.services.teams import participations
from grader.text import iso
from grader.visibility import Anonymity

TESTS = Actor(None, "tests")
WEEK = timedelta(days=7)


def record(service, competition, *, actor=TESTS, action="team.rename", subject="team 1", **given):
    with service.database.write() as session:
        Act(session, competition, actor, service.now).record(action, subject, **given)


MAKING = ("competition.create", "solution.accept", "competition.publish")
PUBLISHED = "The competition was published."


def entries(service, competition, **asked):
    """Return the entries since the competition was created."""
    with service.database.read() as session:
        found = log.list_after(session, competition=competition, **asked)[0].rows
    return [entry for entry in found if entry.action not in MAKING]


def public_texts(service, competition):
    with service.database.read() as session:
        texts = [text for _, text in log.public_slice(session, competition=competition).rows]
    return [text for text in texts if text != PUBLISHED]


def test_public_log_has_only_public_entries_and_aliases_of_an_anonymous_competition(service):
    competition = service.competition(anonymity=Anonymity.UNTIL_REVEAL)
    service.submit(competition, user="ada")
    with service.database.read() as session:
        team = session.scalars(select(Team).where(Team.competition_id == competition.id)).one()
    record(service, competition, public_text=f"{log.mention(team)} was renamed.")
    record(service, competition, reason="For organizers only.")
    with service.database.read() as session:
        assert public_texts(service, competition) == [f"{team.alias} was renamed."]


@pytest.mark.both_databases
@pytest.mark.parametrize("change", [update(AuditEntry).values(reason=""), delete(AuditEntry)])
def test_database_prevents_changes_and_deletions_of_entries(service, change):
    competition = service.competition()
    record(service, competition, reason="It was rude.")
    with pytest.raises(DBAPIError, match="append-only"), service.database.write() as session:
        session.execute(change)
    with pytest.raises(DBAPIError, match="append-only"), service.database.write() as session:
        session.execute(text("DELETE FROM audit_entry WHERE reason <> ''"))
    assert entries(service, competition)[0].reason == "It was rude."


def test_only_differences_are_stored_as_before_and_after(service):
    competition = service.competition()
    record(
        service,
        competition,
        before={"name": "Rude", "size": 2, "at": service.now, "mode": EntryMode.OPEN},
        after={"name": "Nice", "size": 2, "at": service.now + WEEK, "mode": EntryMode.CODE},
    )
    entry = entries(service, competition)[0]
    assert entry.before == {"name": "Rude", "at": iso(service.now), "mode": "open"}
    assert entry.after == {"name": "Nice", "at": iso(service.now + WEEK), "mode": "code"}


def test_texts_that_databases_cannot_store_are_stored_without_invalid_characters(service):
    competition = service.competition()
    record(service, competition, subject="team a\0b\n", reason="x\0y", public_text="p\0q")
    entry = entries(service, competition)[0]
    assert (entry.subject, entry.reason, entry.public_text) == ("team a b", "x y", "p q")


def test_entry_is_shown_with_current_names(service):
    competition = service.competition()
    service.submit(competition, user="bob")
    service.act(decisions.disqualify, competition=competition, team="bob", reason="Two.")
    with service.database.read() as session:
        page, names = log.list_after(session, competition=competition)
    newest = page.rows[0]
    assert (newest.action, log.with_names(newest.subject, names)) == ("team.disqualify", "team bob")


def test_entries_are_found_by_action_by_its_noun_and_by_user(service):
    competition, ada = service.competition(), service.user("ada")
    record(service, competition, actor=Actor.of(ada), action="team.rename")
    record(service, competition, actor=Actor.calendar(), action="team.disqualify")
    record(service, competition, actor=Actor.of(ada), action="announcement.post")

    def found(**asked) -> list[str]:
        return [entry.action for entry in entries(service, competition, **asked)]

    assert found(action="team") == ["team.disqualify", "team.rename"]
    assert found(action="team.rename") == ["team.rename"]
    assert found(person="ada") == ["announcement.post", "team.rename"]
    assert found(person="calendar") == ["team.disqualify"]
    assert found(person="web") == entries(service, service.competition("other")) == []
    with service.database.read() as session:
        assert log.people(session, competition=competition) == ["ada", "calendar", "organizer"]
        assert "team.rename" in log.actions(session, competition=competition)


def test_every_act_during_the_competition_and_the_close_is_recorded(service):
    competition = service.competition(closes_at=service.now + WEEK)
    for seed, name in enumerate(("ada", "bob")):
        service.score(service.submit(competition, user=name, seed=seed))
    first, dora = service.submit(competition, user="cleo", seed=9), service.user("dora")
    service.score(first)
    with service.database.write() as session:
        given = {"competition": competition, "actor": TESTS, "now": service.now}
        act = acting.begin(session, **given)
        decisions.disqualify(act, team="bob", reason="Two accounts.")
        decisions.reinstate(act, team="bob")
        decisions.mark(act, submission_id=first.submission.id, kind=SubmissionKind.BENCHMARK)
        participations.decide(act, user=dora, admits=False)
        settings.change(act, changes={"max_daily_submissions": 7}, reason="A quiet week.")
        close.reveal(acting.begin(session, **(given | {"now": service.now + WEEK})))
    found = {entry.action: entry for entry in entries(service, competition)}
    assert list(found) == [
        "competition.reveal",
        "competition.change",
        "entry.refuse",
        "submission.mark",
        "team.reinstate",
        "team.disqualify",
    ]
    assert found["competition.change"].after == {"max_daily_submissions": 7}
    assert found["competition.change"].reason == "A quiet week."
    texts = public_texts(service, competition)
    assert [text for text in texts if "bob" in text] == texts[-2:]
    assert len(texts) == 5


def test_deleted_name_is_not_kept_in_the_log(service):
    competition = service.competition()
    service.submit(competition, user="bob")
    service.act(decisions.disqualify, competition=competition, team="bob", reason="Two.")
    before = public_texts(service, competition)
    service.act(accounts.delete_account, user=service.user("bob"), secret="s")
    assert before == ["The team bob was disqualified."]
    (after,) = public_texts(service, competition)
    assert "bob" not in after
    assert "Team of deleted" in after
