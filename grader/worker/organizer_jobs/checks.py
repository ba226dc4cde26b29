"""Check jobs for uploaded solutions, changed settings and data files."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from grader import db
from grader.crash_points import reach
from grader.disclosure.findings import Hidden, TargetKind
from grader.errors import OrganizerError
from grader.files import (
    ColumnGuess,
    ColumnRole,
    FileRejected,
    PublicTable,
    RowIds,
    guess_columns,
    read_public_table,
    with_named,
)
from grader.metrics.python_table import PythonTable
from grader.models import Competition, CompetitionState, ScoringVersion
from grader.models import Solution as SolutionRow
from grader.services.competitions.metric import NamedMetric
from grader.services.solutions import assessment, data_checks, intake, truth
from grader.services.solutions import report as solution_report
from grader.services.solutions.assessment import Assessed, LiveSolution
from grader.services.solutions.check_jobs import CheckParameters, Purpose, SettingsCheckParameters
from grader.services.solutions.truth import Truth
from grader.worker.organizer_jobs.context import Work, problems_of

READING, LOOKING, STORING, TOTAL = 60, 85, 95, 100

NOTHING: dict[str, Any] = {
    "problems": [],
    "report": None,
    "changes": None,
    "changes_sha256": None,
    "solution": None,
}


def check_solution(work: Work) -> dict[str, Any]:
    """Check an uploaded solution and return its problems and columns; reject an unreadable header."""
    asked = CheckParameters.from_dict(work.claim.parameters)
    with work.database.read() as session:
        competition = session.get_one(Competition, work.claim.competition_id)
        split_key = truth.key_of(work.settings.secret(), competition.slug)
        version = competition.live_scoring_version if asked.purpose is Purpose.CORRECTED else None
        if version is not None:
            _ = version.solution  # loads the solution while the session is open
    live = None if version is None else LiveSolution.load(work.storage, version)
    with ExitStack() as files:
        file = files.enter_context(work.storage.open(asked.file.sha256))
        work.report_progress(0, TOTAL, "Reading the header")
        guesses = guess_columns(file)
        roles, guessed = _roles(asked, guesses, version)
        metric = asked.choice.metric if live is None else live.rules.metric
        if live is not None and metric.is_python:  # More true values would change it.
            apart = (ColumnRole.ID, ColumnRole.USAGE)
            roles |= {name: ColumnRole.UNUSED for name in guessed if roles[name] not in apart}
        roles = assessment.roles_for(metric, roles, asked.roles, is_new=live is None)
        proposed = [each for each in guesses if each.name in guessed]
        try:
            outcome = _assessed(work, asked, files, file, split_key, live, roles, proposed)
        except (FileRejected, OrganizerError) as error:
            outcome = {"problems": problems_of(error)}
    columns = [
        {"name": each.name, "role": roles.get(each.name, ColumnRole.UNUSED), "examples": each.examples}
        for each in guesses
        if each.name
    ]
    return NOTHING | {"columns": columns, "are_guessed": asked.roles is None} | outcome


def _assessed(
    work: Work,
    asked: CheckParameters,
    files: ExitStack,
    file: BinaryIO,
    split_key: bytes,
    live: LiveSolution | None,
    roles: Mapping[str, ColumnRole],
    proposed: Sequence[ColumnGuess],
) -> dict[str, Any]:
    metric = asked.choice.metric if live is None else live.rules.metric
    sample = _sample(work, metric)
    work.report_progress(READING, TOTAL, "Reading and checking the rows")
    solution, metric = assessment.read(
        file,
        metric,
        roles,
        proposed=[each.name for each in proposed],
        sample=sample,
    )
    unclear = [each.name for each in proposed if not each.is_explained]
    assessed = assessment.assess(
        solution,
        choice=asked.choice.model_copy(update={"metric": metric}),
        split_key=split_key,
        live=live,
        roles=roles,
        undecided=unclear if metric.takes_identities else (),
        test=_test(work, asked, files, solution.row_ids, solution.roles.id),
    )
    result: dict[str, Any] = {}
    if live is not None:
        work.report_progress(LOOKING, TOTAL, "Comparing with the live solution")
        summary, table = assessment.compare(live, solution, assessed.truth)
        result |= {"changes": summary, "changes_sha256": work.storage.put(table).sha256}
    assessed = _with_python(work, assessed, sample)
    if not solution_report.stops(assessed.report["findings"]):
        work.report_progress(STORING, TOTAL, "Storing the solution")
        result["solution"] = intake.keep(work.storage, assessed).as_dict()
    return result | {"report": assessed.report}


def _sample(work: Work, metric: NamedMetric) -> PythonTable | None:
    """Return the sample submission of a metric written in Python, if it was uploaded."""
    sha256 = (metric.python or {}).get("sample")
    return PythonTable.read(work.storage.read(sha256)) if sha256 else None


def _with_python(work: Work, assessed: Assessed, sample: PythonTable | None) -> Assessed:
    source = assessed.rules.metric.source
    if source is None:
        return assessed
    work.report_progress(LOOKING, TOTAL, "Checking the metric")
    return assessment.with_python_check(assessed, work.storage.read(source), sample)


def _roles(
    asked: CheckParameters, guesses: tuple[ColumnGuess, ...], version: ScoringVersion | None
) -> tuple[dict[str, ColumnRole], Collection[str]]:
    """Return the role of each column, and the columns whose role is only a guess.

    A role comes from the organizer's choice or else from the live solution, the settings or a guess.
    """
    if asked.roles is not None:
        return asked.roles, ()
    guessed = {guess.name: guess.role for guess in guesses if guess.name}
    wanted = asked.choice.identities or ()
    named = dict.fromkeys(wanted, ColumnRole.IDENTITY)
    if version is not None:
        stored = version.solution.report["roles"]
        named |= {name: ColumnRole(role) for name, role in stored.items()}
        if version.solution.report["label"] not in guessed:  # organizers must choose a new label
            named |= {name: ColumnRole.UNUSED for name, role in guessed.items() if role is ColumnRole.LABEL}
    roles = with_named(guessed, {name: role for name, role in named.items() if name in guessed})
    return roles, roles.keys() - named.keys()


def _test(
    work: Work, asked: CheckParameters, files: ExitStack, row_ids: RowIds, id_column: str | None
) -> PublicTable | None:
    """Return the participants' table, if there is one; raise FileRejected with its problems."""
    if (named := asked.test) is None:
        return None
    work.report_progress(READING, TOTAL, f"Comparing the ids of {named.name}")
    file = files.enter_context(work.storage.open(named.sha256))
    try:
        return read_public_table(file, row_ids, id_column=id_column or "id")
    except FileRejected as error:
        of_file = (replace(each, message=f"{named.name}: {each.message}") for each in error.problems)
        raise FileRejected(*of_file, file="solution") from error


def check_settings(work: Work) -> dict[str, Any]:
    """Check changed metric settings; raise UnusableSolution with all undefined cells.

    In a draft, findings that block a solution also block changed settings.
    """
    asked = SettingsCheckParameters.from_dict(work.claim.parameters)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, asked.live_scoring_version_id)
        described = version.solution.report
        is_draft = session.get_one(Competition, work.claim.competition_id).state is CompetitionState.DRAFT
    work.report_progress(0, 2, "Reading the live solution")
    live = LiveSolution.load(work.storage, version)
    assessed = assessment.assess_settings(
        described,
        live=live,
        rules=asked.rules,
        is_draft=is_draft,
    )
    assessed = _with_python(work, assessed, _sample(work, asked.rules.metric))
    stored = intake.keep(work.storage, assessed)
    if is_draft:
        intake.require_no_stop(stored)
    return {"solution": stored.as_dict()}


def check_data(work: Work) -> dict[str, Any]:
    """Check data files for leaks of the solution.

    Each result is stored immediately, so another attempt checks only the remaining files. Another job checks
    files and solutions that change during this one.
    """
    from grader.disclosure.examination import examine  # imports pandas

    work.report_progress(0, 0, "Reading the solution")
    with work.database.read() as session:
        competition = session.get_one(Competition, work.claim.competition_id)
        stale = data_checks.stale(session, competition=competition)
        solutions = data_checks.solutions_of(session, competition=competition)
    distinct = {(each.row_ids_sha256, each.prepared_sha256): each for each in solutions}
    hidden = [_hidden(work, each) for each in distinct.values()]
    for number, file in enumerate(stale):
        work.report_progress(number, len(stale), f"Checking {file.name}")
        with work.storage.open(file.sha256) as stream:
            examined = examine(stream, hidden)
        reach("data_check.before_record")
        with work.database.write() as session:
            data_checks.record_outcome(
                session,
                competition_id=work.claim.competition_id,
                file_id=file.id,
                sha256=file.sha256,
                key=data_checks.key_of(file, solutions),
                examined=examined,
                now=db.now(session),
            )
        work.has_stored()
    return {"checked": [file.name for file in stale]}


def _hidden(work: Work, solution: SolutionRow) -> Hidden:
    """Return the hidden values of a solution."""
    row_ids = RowIds(work.storage.read(solution.row_ids_sha256))
    truth = Truth.from_bytes(work.storage.read(solution.prepared_sha256))
    labels: dict[str, NDArray[np.float64] | list[str]] = {solution.report["label"]: truth.labels}
    if truth.targets:
        names = [each["column"] for each in solution.report["targets"]]
        labels = dict(zip(names, truth.as_written().values(), strict=False))
    columns: dict[tuple[TargetKind, str], Any] = {(TargetKind.USAGE, "Usage"): truth.usage}
    columns |= {(TargetKind.LABEL, name): values for name, values in labels.items()}
    columns |= {(TargetKind.IDENTITY, name): values for name, values in truth.identities.items()}
    return Hidden(list(row_ids), columns)
