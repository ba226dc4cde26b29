"""`fairboard rescore`."""

import time
from pathlib import Path

import click

from grader.cli.installation import Installation, opened
from grader.cli.progress import ProgressLine
from grader.cli.solution_report import describe
from grader.errors import OrganizerError
from grader.models import Competition, ScoringVersion
from grader.services import competitions, rescoring, rescoring_publication, solutions
from grader.services.audit import Actor
from grader.services.rescoring import RescoringUnderWay
from grader.services.rescoring_publication import RescoringIncomplete
from grader.services.solutions import StoredSolution
from grader.worker.child import ScoringChild

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
WAIT_FOR_OTHERS_SECONDS = 0.5


class AnotherUnderWay(RescoringUnderWay):
    """A rescoring with another solution was begun and not ended."""

    def __init__(self, competition: Competition, version: ScoringVersion) -> None:
        super().__init__(version)
        self.message += f" `fairboard rescore {competition.slug} --drop` drops it."


@click.command()
@click.argument("slug")
@click.argument("solution", type=FILE, required=False)
@click.option("--reason", help="Why the scores change; participants read it.")
@click.option(
    "--lose-scores",
    is_flag=True,
    help="Switch even if submissions lose their score because scoring them broke.",
)
@click.option("--drop", is_flag=True, help="Give up the rescoring that is under way; give no SOLUTION.")
def rescore(slug: str, solution: Path | None, reason: str | None, lose_scores: bool, drop: bool) -> None:
    """Score all submissions of SLUG with a corrected SOLUTION, then switch every board to the new scores.

    Nothing changes on the boards before all submissions are scored. The same command again goes on with
    what was interrupted.
    """
    if drop and (solution or reason):
        raise click.UsageError("Give no SOLUTION and no --reason with --drop.")
    if not drop and not (solution and reason and reason.strip()):
        raise click.UsageError("Give a SOLUTION and a --reason.")
    with opened() as installation:
        with installation.database.read() as session:
            competition = competitions.get(session, slug=slug)
        if solution is None or reason is None:
            _drop(installation, competition)
            return
        stored = _store(installation, competition, solution)
        click.echo(describe(stored))
        version = _prepare(installation, competition, stored, reason)
        _score_and_publish(installation, version, lose_scores=lose_scores)
    click.echo(f"Every board of {slug} now shows scoring version {version.number}.")


def _store(installation: Installation, competition: Competition, path: Path) -> StoredSolution:
    from grader.files import read_solution

    columns = rescoring.columns(competition)
    corrected = read_solution(path, label=columns.label, identities=columns.identities)
    return solutions.store_corrected(installation.storage, corrected, live=competitions.live(competition))


def _prepare(
    installation: Installation, competition: Competition, stored: StoredSolution, reason: str
) -> ScoringVersion:
    """Begin a rescoring, or find the one that was begun with the same solution."""
    with installation.database.read() as session:
        begun = rescoring.open_version(session, competition=competition)
    if begun is None:
        with installation.database.write() as session:
            return rescoring.prepare(
                session, competition=competition, solution=stored, reason=reason, actor=Actor.shell()
            )
    if begun.solution.prepared_sha256 != stored.prepared_sha256:
        raise AnotherUnderWay(competition, begun)
    click.echo(f"Going on with scoring version {begun.number}.")
    return begun


def _score_and_publish(installation: Installation, version: ScoringVersion, *, lose_scores: bool) -> None:
    """Score what is open, beside workers that do the same, until the version can be published."""
    quiet_child = ScoringChild(installation.settings, is_quiet=True)
    with ProgressLine("submissions scored") as line, quiet_child as child:
        while True:
            while child.rescore(version.id):
                _show(installation, version, line)
            _show(installation, version, line)
            try:
                with installation.database.write() as session:
                    rescoring_publication.publish(
                        session,
                        scoring_version_id=version.id,
                        actor=Actor.shell(),
                        lose_scores=lose_scores,
                    )
            except RescoringIncomplete:  # another process holds the last ones, or a new file arrived
                time.sleep(WAIT_FOR_OTHERS_SECONDS)
            else:
                return


def _show(installation: Installation, version: ScoringVersion, line: ProgressLine) -> None:
    with installation.database.read() as session:
        progress = rescoring.progress(session, scoring_version_id=version.id)
    line.show(progress.finished, progress.total)


def _drop(installation: Installation, competition: Competition) -> None:
    with installation.database.write() as session:
        version = rescoring.open_version(session, competition=competition)
        if version is None:
            raise OrganizerError(f"No rescoring of {competition.slug} is under way.")
        rescoring.drop(session, scoring_version_id=version.id, actor=Actor.shell())
    click.echo(f"Scoring version {version.number} is dropped; the boards are as they were.")
