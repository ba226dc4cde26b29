"""`fairboard rescore`: rescore with a corrected solution or changed metric settings."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from grader.cli.competition.data import look_through
from grader.cli.competition.rescoring_difference import describe_difference, write_difference
from grader.cli.competition.rescoring_options import rescoring_options
from grader.cli.competition.rescoring_publication import Agreement, switch_confirmed
from grader.cli.installation import Installation, opened
from grader.cli.metric.solution_report import describe
from grader.cli.parameters import text_of
from grader.cli.progress import ProgressLine
from grader.crash_points import reach
from grader.errors import OrganizerError
from grader.files import ColumnRole, guess_columns, read_solution
from grader.models import Competition, ScoringVersion, ScoringVersionState
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.metric import Rules
from grader.services.rescoring import preparation, publication
from grader.services.rescoring.preparation import RescoringUnderWay
from grader.services.rescoring.publication import Amends, RescoringIncomplete
from grader.services.setup import settings_file
from grader.services.solutions import assessment, intake
from grader.services.solutions.assessment import LiveSolution
from grader.services.solutions.intake import StoredSolution
from grader.worker.children.job_child import JobChild

WAIT_FOR_OTHERS_SECONDS = 0.5


class AnotherUnderWay(RescoringUnderWay):
    """A rescoring with another solution or other settings was begun and not ended."""

    public_name = "another_under_way"
    message = RescoringUnderWay.message + " `fairboard rescore {competition.slug} --drop` drops it."


@click.command()
@rescoring_options
def rescore(
    slug: str,
    solution: Path | None,
    settings: Path | None,
    rollback: int | None,
    reason: str | None,
    preview: bool,
    publish: bool,
    difference: bool,
    drop: bool,
    folder: Path | None,
    notice: str,
    extra_submissions: int,
    closes_at: datetime | None,
    selection_until: datetime | None,
    yes: bool,
    lose_scores: bool,
) -> None:
    """Rescore all submissions of SLUG with a corrected SOLUTION, then switch the leaderboards.

    The leaderboards change only after all submissions are scored and you have confirmed the summary of the
    changes. Run the same command again to continue an interrupted rescoring.
    """
    starts = [each for each in (solution, settings, rollback) if each is not None]
    if sum((len(starts), publish, difference, drop)) != 1:
        raise click.UsageError(
            "Give one of SOLUTION, --settings, --rollback, --publish, --difference and --drop."
        )
    if bool(starts) != bool(reason and reason.strip()):
        raise click.UsageError(
            "Give a --reason with SOLUTION, --settings and --rollback, and with nothing else."
        )
    amends = Amends(notice, extra_submissions, None, closes_at, selection_until)
    with opened() as installation:
        with installation.database.read() as session:
            competition = lookup.get(session, slug=slug)
        if drop:
            _drop(installation, competition)
        elif difference:
            _tell_difference(installation, competition, _under_way(installation, competition), folder)
        else:
            if rollback is not None:
                if preview:
                    raise click.UsageError(
                        "A rollback has no --preview: the organizers' pages show its difference."
                    )
                version = _roll_back(
                    installation, competition, rollback, reason or "", amends, lose_scores, yes=yes
                )
            elif publish:
                version = _under_way(installation, competition)
            else:
                version = _begin(installation, competition, solution, settings, reason or "")
            if preview:
                if version.state is ScoringVersionState.LIVE:
                    raise OrganizerError(f"Scoring version {version.number}, which is live, is just that.")
                _score(installation, version, lambda: _require_complete(installation, version))
                _tell_difference(installation, competition, version, folder)
                click.echo(f"`fairboard rescore {slug} --publish` publishes it.")
                return
            if version.state is ScoringVersionState.PREPARING:
                _publish(installation, competition, version, amends, lose_scores, yes=yes)
            click.echo(f"All leaderboards of {slug} now use scoring version {version.number}.")


def _begin(
    installation: Installation,
    competition: Competition,
    solution: Path | None,
    settings: Path | None,
    reason: str,
) -> ScoringVersion:
    stored = (
        _store(installation, competition, solution)
        if solution is not None
        else _store_settings(installation, competition, settings)
    )
    click.echo(describe(stored))
    return _prepare(installation, competition, stored, reason)


def _store(installation: Installation, competition: Competition, path: Path) -> StoredSolution:
    live = lookup.live(competition)
    guessed = {guess.name: guess.role for guess in guess_columns(path)}
    corrected = read_solution(path, roles=_roles(live.solution.report, guessed))
    return intake.store_corrected(installation.storage, corrected, live=live)


def _roles(live: dict[str, Any], guessed: dict[str, ColumnRole]) -> dict[str, ColumnRole]:
    """Return the roles of a corrected solution's columns, from the live one's report and a guess.

    Columns for diagnosis keep their roles where they are there, and Usage may be left out.
    """
    usage = {name: role for name, role in guessed.items() if role is ColumnRole.USAGE}
    kept = {name: ColumnRole(role) for name, role in live.get("roles", {}).items() if name in guessed}
    needed = {live.get("id") or "id": ColumnRole.ID, live["label"]: ColumnRole.LABEL}
    needed |= {line["name"]: ColumnRole.IDENTITY for line in live["identities"]}
    return usage | kept | needed


def _store_settings(
    installation: Installation, competition: Competition, path: Path | None
) -> StoredSolution:
    """Check the metric of a file against the solution in use."""
    live = lookup.live(competition)
    text = text_of(path) if path else ""
    before = competition_settings.of(competition)
    file = settings_file.read(text, before=before)
    file.require_readable()
    changes = file.changes
    in_use = Rules.from_dict(live.metric_settings)
    rules = Rules(
        identities=changes.get("identities") or in_use.identities,
        metric=changes.get("metric") or in_use.metric,
    )
    if rules == in_use:
        raise OrganizerError("The file's [metric] is the one in use.")
    assessed = assessment.assess_settings(
        live.solution.report, live=LiveSolution.load(installation.storage, live), rules=rules
    )
    return intake.keep(installation.storage, assessed)


def _prepare(
    installation: Installation, competition: Competition, stored: StoredSolution, reason: str
) -> ScoringVersion:
    """Begin a rescoring, or find the same one begun or published: the command may have been interrupted."""
    with installation.database.read() as session:
        begun = preparation.open_version(session, competition=competition)
    live = lookup.live(competition)
    if begun is None and live.replaced_number is not None and _is_of(live, stored):
        return live
    if begun is None:
        with installation.database.write() as session:
            version = preparation.prepare(
                session, competition=competition, solution=stored, reason=reason, actor=Actor.shell()
            )
        reach("rescoring.after_prepare")
        return version
    if not _is_of(begun, stored):
        raise AnotherUnderWay(competition=competition, version=begun)
    click.echo(f"Continuing with scoring version {begun.number}.")
    return begun


def _is_of(version: ScoringVersion, stored: StoredSolution) -> bool:
    """Return whether a version has this solution, these settings and this program's metric."""
    return (
        version.solution.prepared_sha256 == stored.prepared_sha256
        and version.metric_settings == stored.rules.as_dict()
        and version.metric_code_version == stored.metric_code_version
    )


def _roll_back(
    installation: Installation,
    competition: Competition,
    number: int,
    reason: str,
    amends: Amends,
    lose_scores: bool,
    *,
    yes: bool,
) -> ScoringVersion:
    """Roll back, or first prepare the missing submissions; continue an interrupted rollback."""
    with installation.database.read() as session:
        begun = preparation.open_version(session, competition=competition)
    if begun is not None and begun.number == number and begun.published_at is not None:
        click.echo(f"Continuing with scoring version {number}.")
        return begun
    return switch_confirmed(
        installation,
        competition,
        number,
        lambda session: publication.roll_back(
            session,
            competition=competition,
            number=number,
            reason=reason,
            actor=Actor.shell(),
            amends=amends,
            lose_scores=lose_scores,
        ),
        reached="rollback.after_commit",
        yes=yes,
    )


def _score(installation: Installation, version: ScoringVersion, finish: Callable[[], None]) -> None:
    """Score what is open, beside workers that do the same, until `finish` finds nothing unfinished."""
    quiet_child = JobChild(installation.settings, is_quiet=True)
    with ProgressLine("submissions scored") as line, quiet_child as child:
        while True:
            while child.rescore(version.id):
                _show(installation, version, line)
            _show(installation, version, line)
            try:
                finish()
            except RescoringIncomplete:  # another process holds the last ones, or a new file arrived
                time.sleep(WAIT_FOR_OTHERS_SECONDS)
            else:
                return


def _publish(
    installation: Installation,
    competition: Competition,
    version: ScoringVersion,
    amends: Amends,
    lose_scores: bool,
    *,
    yes: bool,
) -> None:
    """Score what is open and publish; new files that arrive meanwhile are scored too.

    Data files are looked through with the new solution first: nothing is published before.
    """

    def publish(session: Session) -> ScoringVersion:
        return publication.publish(
            session,
            scoring_version_id=version.id,
            actor=Actor.shell(),
            amends=amends,
            lose_scores=lose_scores,
        )

    agreement = Agreement()  # a file that arrives after the answer is scored, and nobody is asked again

    def switch() -> None:
        switch_confirmed(
            installation,
            competition,
            version.number,
            publish,
            reached="publish.after_commit",
            yes=yes,
            agreement=agreement,
        )

    look_through(installation, competition.slug)
    _score(installation, version, switch)


def _require_complete(installation: Installation, version: ScoringVersion) -> None:
    with installation.database.read() as session:
        progress = preparation.progress(session, scoring_version_id=version.id)
    if progress.open:
        raise RescoringIncomplete(progress.open)


def _show(installation: Installation, version: ScoringVersion, line: ProgressLine) -> None:
    with installation.database.read() as session:
        progress = preparation.progress(session, scoring_version_id=version.id)
    line.show(progress.finished, progress.total)


def _tell_difference(
    installation: Installation, competition: Competition, version: ScoringVersion, folder: Path | None
) -> None:
    with installation.database.read() as session:
        for line in describe_difference(session, competition, version):
            click.echo(line)
        if folder is not None:
            for path in write_difference(session, competition, version, folder):
                click.echo(f"Wrote {path}.")


def _under_way(installation: Installation, competition: Competition) -> ScoringVersion:
    with installation.database.read() as session:
        version = preparation.open_version(session, competition=competition)
    if version is None:
        raise OrganizerError(f"No rescoring of {competition.slug} is in progress.")
    return version


def _drop(installation: Installation, competition: Competition) -> None:
    version = _under_way(installation, competition)
    with installation.database.write() as session:
        preparation.drop(session, scoring_version_id=version.id, actor=Actor.shell())
    click.echo(f"Scoring version {version.number} is cancelled; the leaderboards are unchanged.")
