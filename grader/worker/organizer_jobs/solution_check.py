"""The job that checks an uploaded solution: read it, write its report, store its files."""

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from grader.errors import OrganizerError
from grader.files import (
    ColumnGuess,
    ColumnRole,
    FileRejected,
    PublicTable,
    Solution,
    guess_columns,
    read_public_table,
    read_solution,
    with_named,
)
from grader.models import Competition, CompetitionState, ScoringVersion
from grader.services.solutions import assessment, findings, intake, truth
from grader.services.solutions import report as solution_report
from grader.services.solutions.assessment import Assessed, LiveSolution
from grader.services.solutions.checks import CheckParameters, Purpose, SettingsCheckParameters
from grader.worker.organizer_jobs.context import Work, problems_of

READING, LOOKING, STORING, TOTAL = 60, 85, 95, 100


NOTHING: dict[str, Any] = {
    "problems": [],
    "report": None,
    "changes": None,
    "changes_sha256": None,
    "solution": None,
    "commitment": None,
    "canaries": None,
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What the competition says about the file: its address and, for a correction, the live version."""

    slug: str
    version: ScoringVersion | None


def check(work: Work) -> dict[str, Any]:
    """Check the job's solution; the result lists its problems and columns.

    Raises FileRejected where not even the header can be read.
    """
    asked = CheckParameters.from_dict(work.parameters)
    known = _known(work, asked)
    live = None if known.version is None else LiveSolution.load(work.storage, known.version)
    with ExitStack() as files:
        file = files.enter_context(work.storage.open(asked.file.sha256))
        work.report_progress(0, TOTAL, "Reading the header")
        guesses = guess_columns(file)
        roles, guessed = _roles(asked, guesses, known.version)
        try:
            solution = read_solution(
                file, roles=roles, guessed=guessed, progress=lambda *rows: _tell_rows(work, *rows)
            )
            # A guess may have been given up. One that only a few values speak against stays in the form, so
            # that nobody leaves such a column out without choosing to.
            near_misses = {each.name: each.role for each in solution.near_misses}
            roles = solution.roles.by_column() | near_misses
            found = _looked_through(work, asked, known, live, solution, _test(work, asked, files, solution))
        except (FileRejected, OrganizerError) as error:
            found = {"problems": problems_of(error)}
    columns = [
        {"name": each.name, "role": roles.get(each.name, ColumnRole.UNUSED), "examples": each.examples}
        for each in guesses
        if each.name
    ]
    return NOTHING | {"columns": columns, "are_guessed": asked.roles is None} | found


def _looked_through(
    work: Work,
    asked: CheckParameters,
    known: _Known,
    live: LiveSolution | None,
    solution: Solution,
    test: PublicTable | None,
) -> dict[str, Any]:
    def tell(words: str) -> None:
        work.report_progress(READING, TOTAL, words)

    if live is None:
        key = truth.key_of(work.settings.secret(), known.slug)
        assessed = assessment.assess(
            solution, split_key=key, choice=asked.choice, canaries=asked.canaries, test=test, tell=tell
        )
        changes: dict[str, Any] = {}
    else:
        assessed = assessment.assess_corrected(solution, live=live, test=test, tell=tell)
        work.report_progress(LOOKING, TOTAL, "Comparing with the live solution")
        changes = _changes(work, live, solution, assessed)
    stored: dict[str, Any] = {}
    if not findings.stops(assessed.report["findings"]):
        work.report_progress(STORING, TOTAL, "Storing what was read")
        kept = intake.keep(work.storage, assessed)
        stored = {"solution": kept.as_dict()} | kept.apart()
    return {"report": assessed.report} | stored | changes


def _changes(work: Work, live: LiveSolution, solution: Solution, assessed: Assessed) -> dict[str, Any]:
    row_ids, usage = solution.row_ids, solution.roles.usage
    changes = solution_report.compare(
        live.truth,
        assessed.truth,
        positions=assessment.positions_in(live.row_ids, row_ids),
        settings=live.rules.metric,
        label=solution.roles.label,
        usage=usage,
    )
    return {
        "changes": solution_report.change_summary(changes, row_ids, live.truth, assessed.truth, usage),
        "changes_sha256": work.storage.put(solution_report.changes_csv(changes, row_ids)).sha256,
    }


def _known(work: Work, asked: CheckParameters) -> _Known:
    is_correction = asked.purpose is Purpose.CORRECTED
    with work.database.read() as session:
        competition = session.get_one(Competition, work.competition_id)
        version = competition.live_scoring_version if is_correction else None
        if version is not None:
            _ = version.solution  # loaded while the session is open
        return _Known(competition.slug, version)


def _roles(
    asked: CheckParameters, guesses: tuple[ColumnGuess, ...], version: ScoringVersion | None
) -> tuple[dict[str, ColumnRole], Collection[str]]:
    """Return the role of each column, and the columns whose role is a guess.

    The role is as chosen, else as in the live solution, else as the settings name the identities.
    """
    if asked.roles is not None:
        return asked.roles, ()
    guessed = {guess.name: guess.role for guess in guesses if guess.name}
    wanted = asked.choice.identities or ()
    named = dict.fromkeys(wanted, ColumnRole.IDENTITY)
    if version is not None:
        named |= _roles_of(version)
        if version.solution.report["label"] not in guessed:  # another name is another truth: let them choose
            named |= {name: ColumnRole.UNUSED for name, role in guessed.items() if role is ColumnRole.LABEL}
    roles = with_named(guessed, {name: role for name, role in named.items() if name in guessed})
    return roles, roles.keys() - named.keys()


def _roles_of(version: ScoringVersion) -> dict[str, ColumnRole]:
    report = version.solution.report
    if "roles" in report:
        return {name: ColumnRole(role) for name, role in report["roles"].items()}
    identities = {line["name"]: ColumnRole.IDENTITY for line in report["identities"]}
    return {report["label"]: ColumnRole.LABEL, **identities}


def _test(work: Work, asked: CheckParameters, files: ExitStack, solution: Solution) -> PublicTable | None:
    named = asked.test
    if named is None:
        return None
    work.report_progress(READING, TOTAL, f"Comparing the ids of {named.name}")
    file: BinaryIO = files.enter_context(work.storage.open(named.sha256))
    return read_public_table(file, solution.row_ids, id_column=solution.roles.id or "id")


def _tell_rows(work: Work, done: int, total: int) -> None:
    of_all = f" of {total:,}" if total else ""
    percent = READING * done // total if total else READING // 2
    work.report_progress(percent, TOTAL, f"Reading the rows: {done:,}{of_all}")


def check_settings(work: Work) -> dict[str, Any]:
    """Check the settings that the job names; raise UnusableSolution with all cells that are undefined.

    In a draft whatever stops a solution stops this too.
    """
    asked = SettingsCheckParameters.from_dict(work.parameters)
    with work.database.read() as session:
        version = session.get_one(ScoringVersion, asked.live_scoring_version_id)
        described = version.solution.report
        is_draft = session.get_one(Competition, work.competition_id).state is CompetitionState.DRAFT
    work.report_progress(0, 2, "Reading the solution in use")
    assessed = assessment.assess_settings(
        described,
        live=LiveSolution.load(work.storage, version),
        rules=asked.rules,
        is_draft=is_draft,
        tell=lambda words: work.report_progress(1, 2, words),
    )
    stored = intake.keep(work.storage, assessed)
    if is_draft:
        intake.require_no_stop(stored)
    return {"solution": stored.as_dict()} | stored.apart()
