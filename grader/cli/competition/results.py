"""`fairboard competition verify`, `bundle`, `publish-solution` and `receipt`."""

import shutil
from pathlib import Path

import click

from grader import db
from grader.cli.competition.job_progress import ended
from grader.cli.installation import opened
from grader.cli.parameters import LocalPath
from grader.models import Submission
from grader.services.audit.log import Actor
from grader.services.closing import verification
from grader.services.closing.verification import Verified
from grader.services.competitions import lookup
from grader.services.exports import bundle as bundles
from grader.services.solutions import publication
from grader.services.submissions import receipts
from grader.services.submissions.accepting import UnknownSubmission
from grader.text import counted
from grader.visibility import Phase, Viewer

OUT = LocalPath(dir_okay=False)


@click.command()
@click.argument("slug")
def verify(slug: str) -> None:
    """Rescore the submissions that compete in SLUG from their raw files and compare every bit.

    Uses a second implementation that shares no code with the scoring; takes about a second for a file of
    200,000 rows. The exit code is 1 if anything differs.
    """
    with opened() as installation:
        with installation.database.write() as session:
            competition = lookup.get(session, slug=slug)
            job = verification.request(
                session, competition=competition, actor=Actor.shell(), now=db.now(session)
            )
        found = Verified.from_dict(ended(installation, job, "submissions verified").result)
    for each in found.differences:
        click.echo(
            f"#{each.submission_id} of {each.team}, {each.what}: stored {each.stored}, "
            f"recounted {each.recounted}.",
            err=True,
        )
    about = (
        f"{counted(len(found.submission_ids), 'submission')}, {counted(found.value_count, 'value')}, "
        f"scoring version {found.scoring_version}"
    )
    if found.differences:
        raise click.ClickException(f"{counted(len(found.differences), 'difference')} ({about}).")
    click.echo(f"All agree to the last bit: {about}.")


@click.command()
@click.argument("slug")
@click.option("--out", type=OUT, help="The file to write; by default SLUG-final-N.zip here.")
@click.option(
    "--with-solution", is_flag=True, help=("Include the solution with every label, and the exact receipts.")
)
def bundle(slug: str, out: Path | None, with_solution: bool) -> None:
    """Write the final results of SLUG as a ZIP file: leaderboards, tables, metric, hashes, CITATION.cff."""
    with opened() as installation:
        with installation.database.write() as session:
            job = bundles.request(
                session,
                competition=lookup.get(session, slug=slug),
                with_solution=with_solution,
                actor=Actor.shell(),
                now=db.now(session),
            )
        result = ended(installation, job, "steps of packing").result
        path = out or Path(result["file_name"])
        with installation.storage.open(result["sha256"]) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
    click.echo(f"{path}: {result['file_count']} files, {result['size_bytes']:,} bytes.")


@click.command(name="publish-solution")
@click.argument("slug")
@click.option("--reason", default="", help="For the audit.")
@click.confirmation_option(prompt="Everybody will see every label. This cannot be undone. Publish?")
def publish_solution(slug: str, reason: str) -> None:
    """Publish the solution of SLUG, and show every team its complete receipts."""
    with opened() as installation:
        with installation.database.write() as session:
            job = publication.publish(
                session, competition=lookup.get(session, slug=slug), actor=Actor.shell(), reason=reason
            )
        result = ended(installation, job, "steps of packing").result
    with opened() as installation, installation.database.read() as session:
        nonce = publication.nonce(lookup.get(session, slug=slug))
    click.echo(f"The solution of {slug} is public; its sha256 is {result['solution']}, its nonce {nonce}.")


@click.command()
@click.argument("slug")
@click.argument("submission", type=int)
@click.option("--version", "number", type=int, help="The scoring version; by default the live one.")
def receipt(slug: str, submission: int, number: int | None) -> None:
    """Print the complete receipt of SUBMISSION's score in SLUG as JSON, for `fairboard verify`."""
    with opened() as installation, installation.database.read() as session:
        found = session.get(Submission, submission)
        if found is None or found.competition.slug != slug:
            raise UnknownSubmission(submission_id=submission)
        whole = receipts.visible_to(
            session, submission=found, viewer=Viewer.ORGANIZER, phase=Phase.REVEALED, number=number
        )
    click.echo(whole.to_json(), nl=False)
