"""Questions about scores: permissions, readers, answers."""

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Mail
from grader.services.moderation import disputes
from grader.services.moderation.disputes import (
    InvalidAnswer,
    InvalidQuestion,
    QuestionPending,
    TooManyOpen,
    UnknownDispute,
)
from grader.services.submissions.accepting import UnknownSubmission


def ask(service, accepted, *, user: str = "ada", question: str = "Is row r7 labelled right?"):
    about = {"submission_id": accepted.submission.id, "question": question}
    return service.act(disputes.ask, user=service.user(user), **about)


def answer(service, competition, dispute_id: int, text: str):
    service.act(disputes.answer, competition=competition, dispute_id=dispute_id, answer=text)


def test_question_is_answered_and_both_sides_are_notified(service):
    competition = service.competition()
    accepted = service.submit(competition)
    service.user("root", is_admin=True)
    service.verify_addresses("ada", "root")
    asked = ask(service, accepted)
    answer(service, competition, asked.id, "It was wrong; we rescore tonight.")
    with service.database.read() as session:
        found = disputes.of_submission(session, submission=accepted.submission)
        assert [each.answer for each in found] == ["It was wrong; we rescore tonight."]
        mails = session.execute(select(Mail.to_address, Mail.body).order_by(Mail.id)).all()
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "dispute.answer")).one()
    assert [address for address, _ in mails] == ["root@example.org", "ada@example.org"]
    assert "Is row r7 labelled right?" in mails[0][1]
    assert "It was wrong; we rescore tonight." in mails[1][1]
    assert not entry.is_public


def test_only_the_submitting_team_can_ask_about_a_submission(service):
    accepted = service.submit(service.competition())
    with pytest.raises(UnknownSubmission):
        ask(service, accepted, user="eve")


def test_submission_has_one_open_question_and_a_team_five(service):
    competition = service.competition()
    sent = [service.submit(competition, seed=seed) for seed in range(disputes.MAX_OPEN + 1)]
    first = ask(service, sent[0])
    with pytest.raises(QuestionPending):
        ask(service, sent[0])
    for accepted in sent[1:-1]:
        ask(service, accepted)
    with pytest.raises(TooManyOpen):
        ask(service, sent[-1])
    answer(service, competition, first.id, "No.")
    ask(service, sent[0], question="Why not?")


def test_empty_and_too_long_texts_are_rejected(service):
    competition = service.competition()
    accepted = service.submit(competition)
    for text in (" \n ", "x" * (disputes.TEXT_MAX_LENGTH + 1)):
        with pytest.raises(InvalidQuestion):
            ask(service, accepted, question=text)
    asked = ask(service, accepted)
    with pytest.raises(InvalidAnswer):
        answer(service, competition, asked.id, "")


def test_answer_must_belong_to_a_question_of_the_same_competition(service):
    asked = ask(service, service.submit(service.competition()))
    with pytest.raises(UnknownDispute):
        answer(service, service.competition("other"), asked.id, "No.")


def test_open_questions_are_listed_first_oldest_first(service):
    competition = service.competition()
    asked = [ask(service, service.submit(competition, seed=seed)) for seed in range(4)]
    for each in asked[:2]:
        answer(service, competition, each.id, "Yes.")
    with service.database.read() as session:
        page = disputes.page_of(session, competition=competition)
        assert disputes.count_open(session, competition=competition) == 2
    assert [each.id for each in page.rows][:2] == [asked[2].id, asked[3].id]
    assert page.count == 4
