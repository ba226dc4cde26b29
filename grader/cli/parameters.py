"""Command-line parameter types, such as times and input files, and metric options."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click

from grader.text import is_elsewhere, not_a_path

if TYPE_CHECKING:
    from fairboard import MetricSettings, UndefinedPolicy, Weights


class NameList(click.ParamType):  # type: ignore[type-arg]
    """Comma-separated names, such as ``male,middle eastern``; a name with a comma needs quotes."""

    name = "a,b,c"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = next(csv.reader([value], skipinitialspace=True), [])
        names = [name.strip() for name in names]
        if not names or "" in names:
            self.fail(f"{value!r} must be names separated by commas.", param, ctx)
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            self.fail(f"{', '.join(repeated)} must be listed only once.", param, ctx)
        return tuple(names)


class WeightList(click.ParamType):  # type: ignore[type-arg]
    """Four weights separated by commas: for the overall, subgroup, BPSN and BNSP AUC."""

    name = "w,w,w,w"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "Weights":
        from fairboard import Weights

        if isinstance(value, Weights):
            return value
        try:
            numbers = [float(part) for part in value.split(",")]
        except ValueError:
            numbers = []
        if len(numbers) != 4:
            self.fail(
                f"{value!r} must be four numbers separated by commas: the weights of the overall, subgroup, "
                "BPSN and BNSP AUC.",
                param,
                ctx,
            )
        try:
            return Weights(*numbers)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class LocalPath(click.Path):
    """A path on this machine. URLs are rejected, because folders with their names would be created."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if is_elsewhere(str(value)):
            self.fail(not_a_path(str(value)), param, ctx)
        return super().convert(value, param, ctx)


def text_of(path: Path) -> str:
    """Return a file's text without a byte order mark; raise ClickException unless it is UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path} is not UTF-8 (byte {error.start + 1:,} is invalid).") from None


class InputFile(LocalPath):
    """An existing file; ``-`` is standard input.

    Files are read several times, so piped input is kept in a temporary file until the command ends.
    """

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False, allow_dash=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if ctx is None or path.is_file():
            _claim(self, path, param, ctx)
            return path
        kept = _temporary_folder(ctx) / "input"
        with click.open_file(str(path), "rb") as pipe, kept.open("wb") as file:
            shutil.copyfileobj(pipe, file)
        return kept


class OutputFile(LocalPath):
    """A file to write, which must be neither an input nor another output of the same command."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(super().convert(value, param, ctx))
        _claim(self, path, param, ctx)
        return path


def _claim(kind: LocalPath, path: Path, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Record the use of a file; fail if it would be overwritten. Parameters are read in any order."""
    is_written: dict[Path, bool] = {} if ctx is None else ctx.meta.setdefault(__name__, {})
    file, writes = path.resolve(), isinstance(kind, OutputFile)
    if file in is_written and (writes or is_written[file]):
        kind.fail(f"{path} would be overwritten. Choose a file that no other argument names.", param, ctx)
    is_written[file] = writes


INPUT_FILE, OUTPUT_FILE = InputFile(), OutputFile()
LONGEST_NAME = 200  # characters of a file name in a report


def _temporary_folder(ctx: click.Context) -> Path:
    """Return a new folder that is deleted when the command ends."""
    return Path(ctx.with_resource(TemporaryDirectory(prefix="fairboard-")))


def _converted(ctx: click.Context, param: click.Parameter, folder: Path | None) -> Path | None:  # noqa: ARG001
    """Convert Kaggle's files to solution.csv and test.csv, which are deleted when the command ends."""
    if folder is None or ctx.resilient_parsing:
        return None
    from grader.files.solution.jigsaw import read_jigsaw, write_jigsaw

    return write_jigsaw(read_jigsaw(folder), _temporary_folder(ctx))


from_jigsaw_option = click.option(
    "--from-jigsaw",
    type=LocalPath(exists=True, file_okay=False),
    callback=_converted,
    help="The folder with Kaggle's test_public_expanded.csv and test_private_expanded.csv, instead of a "
    "solution file.",
)


def solution_files(*paths: Path | None) -> tuple[Path, Path | None]:
    """Return the solution and the submission, given the value of --from-jigsaw and two arguments."""
    files = [path for path in paths if path is not None]
    if not 1 <= len(files) <= 2:
        raise click.UsageError("Specify a SOLUTION or --from-jigsaw, and at most one other file.")
    return files[0], files[1] if len(files) > 1 else None


class WeightsInAnyForm(click.Command):
    """A command whose ``--weights`` also accepts four values: ``--weights 0.25 0.25 0.25 0.25``.

    Its help shows the defaults of all options.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"context_settings": {"show_default": True}})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--weights" in args:
            first = args.index("--weights") + 1
            words = args[first : first + 4]
            if len(words) == 4 and all(map(_is_number, words)):
                args = [*args[:first], ",".join(words), *args[first + 4 :]]
        return super().parse_args(ctx, args)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


Command = TypeVar("Command", bound=Callable[..., Any])


def options(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds arguments and options to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


metric_options = options(
    click.option(
        "--power",
        type=float,
        default=-5.0,
        help="Exponent of the power means; 0 is the geometric mean, inf the maximum and -inf the minimum.",
    ),
    click.option(
        "--weights",
        type=WeightList(),
        default="0.25,0.25,0.25,0.25",
        help="Weights of the overall, subgroup, BPSN and BNSP AUC; they sum to 1.",
    ),
    click.option(
        "--threshold",
        type=float,
        default=0.5,
        help="Value at or above which a label is positive and an identity counts as mentioned.",
    ),
)
_evaluation_options = options(
    click.option("--label", help="The label column; by default target, label or toxicity."),
    click.option(
        "--identities",
        type=NameList(),
        help="The identity columns; by default, they are guessed from the names and values.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object with full precision."),
)
split_option = click.option(
    "--split",
    type=click.Choice(["all", "public", "private"]),
    default="all",
    help="The rows of the solution to use.",
)


def undefined_option(default: str) -> Callable[[Command], Command]:
    """Return the option `--undefined`."""
    return click.option(
        "--undefined",
        type=click.Choice(["error", "skip"]),
        default=default,
        help="How to handle an undefined AUC: leave the score undefined (error) or omit the AUC from the "
        "power mean (skip).",
    )


def evaluation_command(function: Callable[..., Any]) -> click.Command:
    """Return a command; `--label`, `--identities`, `--json` and the metric options follow its own options."""
    command = click.command(cls=WeightsInAnyForm)(function)
    command.params += click.command()(_evaluation_options(metric_options(lambda: None))).params
    return command


def metric_settings(
    power: float, weights: "Weights", threshold: float, undefined: "UndefinedPolicy" = "error"
) -> "MetricSettings":
    """Return the metric settings; raise UsageError for an invalid value."""
    from fairboard import MetricSettings

    try:
        return MetricSettings(
            power=power,
            weights=weights,
            label_threshold=threshold,
            identity_threshold=threshold,
            undefined=undefined,
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
