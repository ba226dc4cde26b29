"""The API's requests and answers about making a competition: settings, solution, data files, publication."""

from typing import Annotated, Any

from flask import url_for
from pydantic import ConfigDict, Field, ValidationInfo, field_serializer, field_validator

from grader.files import ColumnRole
from grader.metrics import MetricSettings
from grader.models import (
    Competition,
    CompetitionState,
    DataCheckState,
    DataFile,
    Figure,
    OrganizerJob,
    ScoringVersion,
    SubmissionStatus,
)
from grader.services.competitions.settings_model import DATES, KINDS, CompetitionSettings, Kind
from grader.services.solutions import checks as solution_checks
from grader.services.solutions.checks import CheckParameters, Purpose
from grader.text import is_storable
from webapp.competitions.leaks import LeakBudgetAnswer, SafeStep
from webapp.http import organizer_operations as organizing
from webapp.http.fields import Answer, Binary, FileForm, Moment, Problems, Sent, Text, allow_more
from webapp.http.organizer_operations import FaultAnswer, Job
from webapp.presentation import formats


class NewCompetition(Sent):
    """A draft to make, new or as a copy of the competition `source`, which never has its dates."""

    slug: Text
    title: Text = ""
    source: Text = ""
    owner: Annotated[Text, Field(description="Another account that owns it too; empty for none.")] = ""
    with_data: bool = False
    with_solution: bool = False


class Draft(Answer):
    """A draft that was made."""

    slug: str
    title: str
    url: Annotated[str, Field(description="Its settings.")]


class SettingsSent(CompetitionSettings):
    """The settings of a competition. A limit of null is none; a date of null follows from the close."""

    model_config = ConfigDict(title="CompetitionSettings")

    @field_validator("*", mode="before")
    @classmethod
    def _no_flags(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and KINDS.get(info.field_name or "") in (Kind.COUNT, Kind.LIMIT):
            raise ValueError("must be a whole number")
        return value

    @field_validator(*DATES)
    @classmethod
    def _zoned(cls, moment: Any) -> Any:
        if moment is not None and moment.tzinfo is None:
            raise ValueError("must name its time zone, as in 2030-01-31T12:00:00Z")
        return moment

    @field_validator("identities")
    @classmethod
    def _storable(cls, names: Any) -> Any:
        if not all(map(is_storable, names or ())):
            raise ValueError("must be texts without NUL (U+0000)")
        return names

    @field_serializer(*DATES)
    def _iso(self, moment: Any) -> str | None:
        return formats.iso(moment)

    @field_serializer("metric")
    def _with_text_for_infinity(self, metric: MetricSettings) -> dict[str, Any]:
        return metric.as_dict()


class SettingsShown(SettingsSent):
    """The settings of a competition, as they are now."""

    model_config = ConfigDict(title="SettingsShown", json_schema_extra=allow_more)


class SettingsQuery(Sent):
    """Whether dates are saved that have passed or are less than a day away."""

    confirm: bool = False


class SettingsAnswer(Answer):
    """The settings of a competition, why some are locked, the dates in force, warnings, the leak budget."""

    version: Annotated[str, Field(description="Changes with the settings; the ETag begins with it.")]
    settings: SettingsShown
    locked: dict[str, str]
    dates: dict[str, Moment | None]
    warnings: list[FaultAnswer]
    safe_step: SafeStep | None
    leak_budget: LeakBudgetAnswer


class SettingsChanged(SettingsAnswer):
    """The settings after a change, and which of them changed."""

    changed: list[str]


class SolutionForm(FileForm):
    """A solution to check, for a published competition a corrected one."""

    test: Annotated[Any, Binary] = None
    finds_test: Annotated[
        bool, Field(description="False compares no test.csv but one that is sent too; else that of the data.")
    ] = True
    canaries: int = 0
    canaries_from_scored: bool = False


class SolutionColumn(Answer):
    """A column of a checked solution, its role and some of its values."""

    name: str
    role: ColumnRole
    examples: list[Any]


class SolutionCheck(Answer):
    """A check of a solution: how far it is, what it found, and why it cannot be accepted."""

    job: Job
    purpose: Purpose
    file_name: str
    size_bytes: int
    test_name: str | None
    problems: Problems
    columns: list[SolutionColumn]
    are_guessed: bool
    report: dict[str, Any] | None
    changes: dict[str, Any] | None
    commitment: str | None
    why_not: Annotated[str | None, Field(description="Null where the solution can be accepted.")]


class SolutionInUse(Answer):
    """The solution that scores are computed with, and its report."""

    number: int
    scoring_version: int
    row_count: int
    commitment: str | None
    report: dict[str, Any]


class SolutionAnswer(Answer):
    """The solution in use and the newest checks."""

    solution: SolutionInUse | None
    checks: list[SolutionCheck]


class RolesRequest(Sent):
    """The roles of some columns, the others keep theirs; and how many canary rows to draw."""

    roles: dict[str, ColumnRole]
    canaries: int = 0
    canaries_from_scored: bool = False


class DataFileForm(FileForm):
    """A data file, for people to download."""

    description: Text = ""


class BaselineForm(FileForm):
    """A file of predictions that becomes a benchmark."""

    name: Text = ""


class OrganizersDataFile(Answer):
    """A data file, its check, and what its release would make public."""

    name: str
    description: str
    size_bytes: int
    sha256: str
    uploaded_at: Moment
    state: DataCheckState
    discloses: list[str]
    unopened: list[str]
    warnings: Annotated[
        list[str], Field(description="Advice on the file's name; a warning holds nothing back.")
    ]
    phrase: Annotated[str, Field(description="What to type to release a file that is held back.")]
    consequence: str


class BenchmarkLine(Answer):
    """A benchmark."""

    id: int
    name: str
    status: SubmissionStatus


class DataAnswer(Answer):
    """The data files and the benchmarks; `is_final` is false while files are being checked."""

    files: list[OrganizersDataFile]
    benchmarks: list[BenchmarkLine]
    is_final: bool
    job: Job | None


class DataFileStored(Answer):
    """A data file that was uploaded, and where its check is told."""

    name: str
    url: str


class FigureLine(Answer):
    """A figure that the texts of a competition can show by its name."""

    name: str
    media_type: str
    width: int
    height: int
    size_bytes: int
    url: str


class FigureList(Answer):
    """The figures of a competition's texts."""

    figures: list[FigureLine]


class FigureStored(Answer):
    """A figure that was uploaded, and its address."""

    name: str
    url: str


class ReleaseRequest(Sent):
    """The words that a check asks for, and why the file is released."""

    typed: Text
    reason: Text = ""


class Publication(Answer):
    """Where a competition is: what keeps a draft from being published, and what could be better."""

    state: CompetitionState
    missing: list[FaultAnswer]
    suggestions: list[FaultAnswer]
    submission_count: int


def check(competition: Competition, job: OrganizerJob) -> SolutionCheck:
    """Return a check of a solution."""
    asked, result = CheckParameters.from_dict(job.parameters), job.result or {}
    return SolutionCheck(
        job=organizing.job(job),
        purpose=asked.purpose,
        file_name=asked.file.name,
        size_bytes=asked.file.size_bytes,
        test_name=asked.test.name if asked.test else None,
        problems=[*job.problems, *result.get("problems", [])],
        columns=[SolutionColumn(**column) for column in result.get("columns", [])],
        are_guessed=result.get("are_guessed", False),
        report=result.get("report"),
        changes=result.get("changes"),
        commitment=(result.get("commitment") or {}).get("value"),
        why_not=solution_checks.why_not_acceptable(competition, job),
    )


def figure(slug: str, figure: Figure) -> FigureLine:
    """Return a figure."""
    return FigureLine.of(figure, url=url_for("competitions.figure", slug=slug, name=figure.name))


def solution_in_use(live: ScoringVersion) -> SolutionInUse:
    """Return the solution of the live scoring version."""
    return SolutionInUse.of(live.solution, scoring_version=live.number)


def data_file(file: DataFile, found: Any) -> OrganizersDataFile:
    """Return a data file and what its check found."""
    return OrganizersDataFile.of(
        file,
        state=file.check_state,
        discloses=list(found.discloses),
        unopened=list(found.unopened),
        warnings=list(found.warnings),
        phrase=found.phrase,
        consequence=found.consequence,
    )
