"""Links and notes of submissions: editing, requirements of the final selection, final standings."""

from datetime import timedelta

import pytest

from grader.models import Competition, Submission
from grader.services.competitions.entry_fields import InvalidDetails
from grader.services.submissions import accepting, selections
from grader.services.submissions.accepting import DetailsMissing, UnknownSubmission

FIELDS = "Code: link, required\nSize: number"
CODE = {"Code": "https://example.org/code"}
LATER = timedelta(days=1)


def edit(service, submission_id: int, details: dict, user: str = "ada") -> dict:
    with service.database.write() as session:
        return accepting.describe(
            session, user=service.user(user), submission_id=submission_id, details=details
        ).details


def select(service, submission_id: int):
    with service.database.write() as session:
        selections.select(session, user=service.user(), submission_id=submission_id, now=service.now)


def sent(service, competition: Competition, **given) -> int:
    upload = service.submit(competition, **given)
    service.score(upload)
    return upload.submission.id


def test_edits_change_only_the_sent_values_and_keep_the_description(service):
    competition = service.competition(entry_fields=FIELDS)
    own = sent(service, competition)
    with service.database.write() as session:
        session.get_one(Submission, own).description = "first"
    edit(service, own, CODE | {"Size": "7e9"})
    assert edit(service, own, {"Size": ""}) == CODE
    assert edit(service, own, {"Code": "https://example.org/\0x".replace("\0", "")}) != CODE
    with pytest.raises(InvalidDetails):
        edit(service, own, {"Code": "javascript:alert(1)"})
    with pytest.raises(UnknownSubmission):
        edit(service, own, CODE, user="bob")
    with service.database.read() as session:
        assert session.get_one(Submission, own).description == "first"


def test_control_characters_are_removed_before_they_reach_the_database(service):
    own = sent(service, service.competition(entry_fields="Data: text"))
    assert edit(service, own, {"Data": "a\0b\ud800\nc"}) == {"Data": "a b c"}


def test_a_selected_submission_has_all_required_values(service):
    own = sent(service, service.competition(entry_fields=FIELDS))
    with pytest.raises(DetailsMissing, match="Code"):
        select(service, own)
    edit(service, own, CODE)
    select(service, own)
    with pytest.raises(DetailsMissing, match="Code"):
        edit(service, own, {"Code": ""})
    assert edit(service, own, {"Size": 3}) == CODE | {"Size": 3}


def test_teams_see_competing_files_without_required_values(service):
    competition = service.competition(entry_fields=FIELDS, closes_at=service.now + timedelta(hours=1))
    own = sent(service, competition)

    def incomplete() -> list[int]:
        with service.database.read() as session:
            current, team = service.reload(competition), session.get_one(Submission, own).team
            choice = selections.would_count(session, competition=current, team=team, now=service.now + LATER)
            return [*choice.incomplete]

    assert incomplete() == [own]
    edit(service, own, CODE)
    assert incomplete() == []
