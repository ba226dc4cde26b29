"""`fairboard verify`: recomputation of a receipt's score without server or database."""

from pathlib import Path

import click

from grader.cli.group import REJECTED
from grader.errors import OrganizerError
from grader.text import counted

FILE = click.Path(path_type=Path)


class Incomparable(click.ClickException):
    """A file is missing or invalid."""

    exit_code = REJECTED


@click.command()
@click.argument("receipt", type=FILE)
@click.option("--solution", type=FILE, help="The solution: the published file or the organizer's own.")
@click.option("--submission", type=FILE, help="The submission as it was uploaded.")
@click.option("--nonce", type=FILE, help="The nonce published with the solution; newer receipts contain it.")
def verify(receipt: Path, solution: Path | None, submission: Path | None, nonce: Path | None) -> None:
    """Recompute the score in RECEIPT from the files and compare it with the receipt.

    The score of the bias metric is recomputed by a second implementation that shares no code with the
    scoring, and every count and every bit must be equal. It takes a few seconds for 200,000 rows. Any other
    built-in metric is computed again by the same code. Values that depend on sums, such as those of squared
    errors, are compared within 1e-12, because the last bits of logarithms depend on the machine.

    If you specify only one of the files, only its hash is compared.

    The exit code is 0 if everything matches the receipt, 1 if anything differs and 2 if the files cannot be
    compared.
    """
    from grader.metrics.registry import is_python
    from grader.receipts import Receipt
    from grader.receipts.verification import verify as verify_receipt

    if solution is None and submission is None:
        raise click.UsageError("Specify --solution, --submission, or both.")
    try:
        parsed = Receipt.from_json(receipt.read_bytes())
        checks = verify_receipt(
            parsed,
            submission=None if submission is None else submission.read_bytes(),
            solution=None if solution is None else solution.read_bytes(),
            nonce=None if nonce is None else _nonce(nonce),
        )
    except OSError as error:
        raise Incomparable(f"The file {error.filename} cannot be read: {error.strerror}.") from error
    except OrganizerError as error:
        raise Incomparable(error.message) from error
    differing = [check for check in checks if not check.holds]
    hashes = [check for check in checks if check.what.startswith("sha256")]
    other_files = [check for check in hashes if not check.holds]
    for check in other_files or differing:
        text = f"{check.what}: {check.expected} in the receipt, {check.actual} from the files."
        click.echo(text, err=True)
    if other_files:
        click.echo("A file is not the one that the receipt refers to.", err=True)
    if differing:
        raise click.ClickException(f"{len(differing):,} of {counted(len(checks), 'compared value')} differ.")
    for check in checks:
        if check in hashes or check.what.endswith("score as shown"):
            click.echo(f"{check.what}: {check.actual}")
    click.echo(f"{counted(len(checks), 'value')} compared; all match the receipt.")
    if not all(check.is_exact for check in checks):
        click.echo("Sums, and values computed from them, match within 1e-12.")
    if is_python(parsed.metric_settings):
        click.echo(
            "The score was not recomputed, because the receipt does not contain the metric that the "
            "organizers wrote (metric.py)."
        )
    elif solution is None or submission is None:
        click.echo("The score was not recomputed, which requires both the solution and the submission.")


def _nonce(path: Path) -> bytes:
    try:
        return bytes.fromhex(path.read_text(encoding="ascii"))
    except ValueError as error:
        raise Incomparable(f"{path.name} contains no nonce; expected hexadecimal digits.") from error
