"""Solution check job: reports, blocking findings, corrections."""

import random

import pytest

from fairboard import MetricSettings
from grader.files import ColumnRole
from grader.models import Competition, JobState, OrganizerJob
from grader.services.competitions import acting, drafts
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.rescoring import versions
from grader.services.site.log import Actor
from grader.services.solutions import check_jobs
from grader.services.solutions import data_files as files
from grader.services.solutions.check_jobs import NotAcceptable, UploadedFile
from grader.worker.organizer_jobs.worker import run_job

SHELL = Actor(None, "shell (tests)")


@pytest.fixture
def draft(service):
    with service.database.write() as session:
        settings = CompetitionSettings(title="Next")
        return drafts.create(session, slug="next", settings=settings, actor=SHELL, now=service.now)


@pytest.fixture
def check(service):
    """A function that uploads a file, runs its check, and returns the job."""

    def check(competition: Competition, csv: bytes, *, test: bytes | None = None, roles=None) -> OrganizerJob:
        with service.database.write() as session:
            job = check_jobs.add(
                acting.Act(session, service_reload(session, competition), SHELL, service.now),
                file=upload("solution.csv", csv),
                test=None if test is None else upload("test.csv", test),
                roles=roles,
            )
        run_job(service.settings, service.database, service.storage, job.id)
        with service.database.read() as session:
            return session.get_one(OrganizerJob, job.id)

    def upload(name: str, data: bytes) -> UploadedFile:
        return UploadedFile.of(name, service.storage.put(data))

    def service_reload(session, competition: Competition) -> Competition:
        return session.get_one(Competition, competition.id)

    return check


def messages(job, level):
    findings = job.result["report"]["findings"]
    return [finding["message"] for finding in findings if finding["level"] == level]


def accept(service, competition, job):
    with service.database.write() as session:
        draft = session.get_one(Competition, competition.id)
        act = acting.begin(session, competition=draft, actor=SHELL, now=service.now)
        solution = check_jobs.accepted(session, competition=draft, job_id=job.id)
        versions.set_first(act, solution=solution)


def ids_csv(rows=400):
    return ("id,text\n" + "".join(f"r{row},x\n" for row in range(rows))).encode()


def test_drafts_solution_is_reported_stored_and_accepted(service, draft, check, solution_csv):
    job = check(draft, solution_csv(), test=ids_csv())
    assert job.state is JobState.DONE
    assert job.result["problems"] == []
    assert messages(job, "stop") == []
    assert "test.csv has exactly the 400 ids of the solution." in messages(job, "note")
    report = job.result["report"]
    assert report["splits"]["public"]["rows"] == report["splits"]["private"]["rows"] == 200
    assert 0 < report["splits"]["private"]["paired_error"] < 0.1
    assert {line["hidden"] for line in report["leaks"]} == {"the label", "Usage"}
    accept(service, draft, job)
    live = service.reload(draft).live_scoring_version
    assert live.solution.report == report
    assert live.solution.digest == job.result["solution"]["digest"]
    assert len(live.solution.digest) == 64


def test_chosen_roles_override_the_guess(draft, check, solution_csv):
    job = check(draft, solution_csv())
    roles = {each["name"]: ColumnRole(each["role"]) for each in job.result["columns"]}
    assert roles["muslim"] is ColumnRole.IDENTITY
    again = check(draft, solution_csv(), roles=roles | {"muslim": ColumnRole.UNUSED})
    assert [line["name"] for line in again.result["report"]["identities"]] == ["female"]
    none = check(draft, solution_csv(), roles=roles | {"toxicity": ColumnRole.UNUSED})
    assert [problem["code"] for problem in none.result["problems"]] == ["missing_label"]
    assert len(none.result["columns"]) == 5  # The roles can still be changed.


def test_unscorable_solution_is_stopped_with_an_explanation(service, draft, check, solution_csv):
    job = check(draft, solution_csv(rows=40))
    assert job.result["solution"] is None
    assert any("No identity has at least 25 positive" in text for text in messages(job, "stop"))
    with pytest.raises(NotAcceptable, match="Fix them"):
        accept(service, draft, job)


def test_split_by_a_remainder_of_the_id_stops_the_check(draft, check, solution_csv):
    header, *lines = solution_csv(usage=False).decode().splitlines()
    ids = random.Random(1).sample(range(10_000), len(lines))
    rows = [
        f"{row_id},{line.partition(',')[2]},{'Private' if row_id % 10 >= 5 else 'Public'}"
        for row_id, line in zip(ids, lines, strict=True)
    ]
    (text,) = messages(check(draft, "\n".join([f"{header},Usage", *rows]).encode()), "stop")
    assert text.startswith("The id modulo 10 alone predicts Usage with an AUC of 1.000")
    assert "omit Usage" in text


def test_test_file_in_label_order_stops_the_check(draft, check, solution_csv):
    _, *lines = solution_csv().decode().splitlines()
    lines.sort(key=lambda line: line.split(",")[1])
    test = "id\n" + "".join(line.split(",")[0] + "\n" for line in lines)
    [text] = messages(check(draft, solution_csv(), test=test.encode()), "stop")
    assert text.startswith("The row number in test.csv alone predicts the label")


def test_test_file_with_other_ids_or_the_label_stops_the_check(draft, check, solution_csv):
    test = ids_csv(399).replace(b"id,text", b"id,toxicity") + b"extra,x\n"
    texts = messages(check(draft, solution_csv(), test=test), "stop")
    assert len(texts) == 3
    assert any("lacks 1 id of the solution: 'r399'" in text for text in texts)
    assert any("the solution lacks the id 'extra' of the file test.csv" in text for text in texts)
    assert any("secret column 'toxicity'" in text for text in texts)


def test_existing_data_file_test_csv_is_compared_automatically(service, draft, check, solution_csv):
    with service.database.write() as session:
        files.add(
            session,
            competition=session.get_one(Competition, draft.id),
            name="test.csv",
            description="",
            blob=service.storage.put(ids_csv(399)),
            actor=SHELL,
            now=service.now,
        )
    [text] = messages(check(draft, solution_csv()), "stop")
    assert "test.csv lacks 1 id" in text


def test_changed_settings_require_another_check(service, draft, check, solution_csv):
    job = check(draft, solution_csv())
    changes = {"metric": MetricSettings(power=-3.0)}
    service.act(competition_settings.change, competition=draft, changes=changes)
    with pytest.raises(NotAcceptable, match="settings changed"):
        accept(service, draft, job)


def corrected(csv):
    """Change r0's label and an identity of r1; move r2 from Public to Private; ignore r4."""
    lines = csv.decode().splitlines()
    cells = [line.split(",") for line in lines]
    cells[1][1] = "1" if cells[1][1] == "0" else "0"
    cells[2][2] = "0.7" if cells[2][2] == "0" else "0.2"
    cells[3][4] = "Private"
    cells[5][4] = "Ignored"
    return "\n".join(map(",".join, [cells[0], *reversed(cells[1:])])).encode()


def test_correction_lists_the_changes_by_row(service, check, solution_csv):
    competition = service.competition()
    job = check(competition, corrected(solution_csv()))
    changes = job.result["changes"]
    assert changes["rows"] == 4
    assert [(each["column"], each["rows"]) for each in changes["columns"]] == [
        ("toxicity", 1),
        ("female", 1),
        ("Usage", 2),
    ]
    assert changes["moves"] == {"Public to Private": 1, "Public to Ignored": 1}
    assert changes["exposed_rows"] == 1
    table = service.storage.read(job.result["changes_sha256"]).decode().splitlines()
    assert table[0] == "id,column,before,after"
    assert "r2,Usage,Public,Private" in table and "r4,Usage,Public,Ignored" in table
    with service.database.read() as session:
        stored = check_jobs.accepted(
            session, competition=session.get_one(Competition, competition.id), job_id=job.id
        )
    assert stored.public_row_count == 198


def spoilt(csv, column, value, line=21):
    lines = csv.decode().splitlines()
    cells = lines[line - 1].split(",")
    cells[lines[0].split(",").index(column)] = value
    return "\n".join([*lines[: line - 1], ",".join(cells), *lines[line:]]).encode()


def test_identity_with_one_invalid_value_stops_a_draft_until_its_role_is_chosen(draft, check, solution_csv):
    csv = spoilt(solution_csv(), "muslim", "-1")
    job = check(draft, csv)
    assert [problem["lines"] for problem in job.result["problems"]] == [[21]]
    coded = check(draft, csv.replace(b"muslim", b"nun", 1))
    assert coded.result["solution"] is None
    assert any("The role of 'nun' is unclear" in text for text in messages(coded, "stop"))
    roles = {each["name"]: ColumnRole(each["role"]) for each in job.result["columns"]}
    assert roles["muslim"] is ColumnRole.IDENTITY  # The form proposes the role, so the problem stays visible.
    chosen = check(draft, csv, roles=roles | {"muslim": ColumnRole.UNUSED})
    assert chosen.result["solution"] is not None


def test_correction_never_drops_an_identity_or_the_label_silently(service, check, solution_csv):
    names = ("female", "muslim", "rare")
    csv = solution_csv(identities=names)
    competition = service.competition(csv=csv, identities=("female", "muslim"))
    job = check(competition, spoilt(csv, "rare", "-1"))
    # This also applies to identities that are not part of the score.
    assert [problem["lines"] for problem in job.result["problems"]] == [[21]]
    header, *lines = csv.decode().splitlines()
    without = "\n".join(",".join([*line.split(",")[:4], line.split(",")[-1]]) for line in [header, *lines])
    assert (
        "lacks 1 identity column of the live solution: 'rare'"
        in messages(check(competition, without.encode()), "warning")[0]
    )
    renamed = check(competition, csv.replace(b"toxicity", b"target", 1))
    assert [problem["code"] for problem in renamed.result["problems"]] == ["missing_label"]


def test_correction_with_other_ids_or_identities_is_explained(service, check, solution_csv):
    competition = service.competition()
    job = check(competition, solution_csv(rows=399))
    assert [problem["code"] for problem in job.result["problems"]] == ["unusable_solution"]
    assert "1 row id of the live solution missing: r399" in job.result["problems"][0]["message"]
    renamed = check(competition, solution_csv().replace(b"muslim", b"islam"))
    assert "no identity column 'muslim'" in renamed.result["problems"][0]["message"]


def test_leak_of_a_live_competition_does_not_stop_a_correction(service, check, solution_csv):
    header, *lines = solution_csv().decode().splitlines()
    lines.sort(key=lambda line: line.split(",")[1])
    csv = "\n".join([header, *lines]).encode()
    job = check(service.competition(csv=csv), csv)
    assert messages(job, "stop") == []
    assert job.result["solution"] is not None
