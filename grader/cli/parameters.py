"""Command-line parameter types, such as names and input files, and metric options."""

import csv
import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from fairboard import MetricSettings, Weights
    from grader.files import ColumnRole

Command = TypeVar("Command", bound=Callable[..., Any])
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def options(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds arguments and options to a command."""

    def decorate(command: Command) -> Command:
        for option in reversed(decorators):
            command = option(command)
        return command

    return decorate


def _names(_context: Any, _parameter: Any, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or "" in names or len(set(names)) < len(names):
        raise click.BadParameter(f"{text!r} must be different names separated by commas.")
    return tuple(names)


def names_option(option: str, description: str) -> Callable[[Command], Command]:
    """Return an option for names such as ``male,middle eastern``; a name with a comma needs quotes."""
    return click.option(option, metavar="A,B,C", callback=_names, help=description)


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
OUTPUT_FILE = click.Path(dir_okay=False, path_type=Path)


class InputFile(click.Path):
    """An existing file; ``-`` is standard input.

    Files are read several times, so piped input is kept in a temporary file until the command ends.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        if ctx is None or path.is_file():
            return path
        kept = _temporary_folder(ctx) / "input"
        with click.open_file(str(path), "rb") as pipe, kept.open("wb") as file:
            shutil.copyfileobj(pipe, file)
        return kept


INPUT_FILE = InputFile(path_type=Path, exists=True, dir_okay=False, allow_dash=True)


def _weights(_context: Any, _parameter: Any, text: str) -> "Weights":
    from fairboard import Weights

    try:
        overall, subgroup, bpsn, bnsp = map(float, text.split(","))
        return Weights(overall, subgroup, bpsn, bnsp)
    except ValueError as error:
        wanted = "the weights of the overall, subgroup, BPSN and BNSP AUC: four numbers with the sum 1"
        raise click.BadParameter(f"{text!r} must be {wanted}.") from error


def _roles(_context: Any, _parameter: Any, texts: Iterable[str]) -> "dict[str, ColumnRole]":
    """Return the roles by column; fail with a list of all roles if one is unknown."""
    from grader.files import ColumnRole

    roles, known = {}, [each.value for each in ColumnRole]
    for text in texts:
        column, separator, role = text.rpartition("=")
        if not separator or role not in known:
            wanted = f"COLUMN=ROLE with one of the roles {', '.join(known)}"
            raise click.BadParameter(f"{text!r} must be {wanted}.")
        roles[column] = ColumnRole(role)
    return roles


def _temporary_folder(ctx: click.Context) -> Path:
    """Return a new folder that is deleted when the command ends."""
    return Path(ctx.with_resource(TemporaryDirectory(prefix="fairboard-")))


def text_of(path: Path) -> str:
    """Return a file's text without a byte order mark; raise ClickException unless it is UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{path} is not UTF-8 (byte {error.start + 1:,} is invalid).") from None


def roster_lines(path: Path) -> list[str]:
    """Return the lines of a roster in UTF-8 or UTF-16."""
    from grader.services.identity.roster_file import lines_of

    return lines_of(path.read_bytes())


def fields_of(_context: Any, _parameter: Any, words: Iterable[str]) -> dict[str, Any]:
    """Return the values by name; a path for @FILE, JSON as its value, and any other value as text.

    The server reads numbers and times from text.
    """
    fields: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{word!r} must be NAME=VALUE.")
        fields[name] = value
        if value.startswith("@"):
            fields[name] = FILE.convert(value[1:], None, None)
        elif value.startswith(("[", "{")) or value in ("null", "true", "false"):
            try:
                fields[name] = json.loads(value)
            except ValueError:
                raise click.UsageError(f"The value of {name} is not valid JSON.") from None
    return fields


def fields_option(description: str) -> Callable[[Command], Command]:
    """Return the option ``-f NAME=VALUE``, which may be repeated."""
    names = ("-f", "--field", "fields")
    return click.option(*names, metavar="NAME=VALUE", multiple=True, callback=fields_of, help=description)


def with_texts(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with the text of each file."""
    return {name: text_of(value) if isinstance(value, Path) else value for name, value in fields.items()}


def _converted(ctx: click.Context, param: click.Parameter, folder: Path | None) -> Path | None:  # noqa: ARG001
    """Convert Kaggle's files to solution.csv and test.csv, which are deleted when the command ends."""
    if folder is None or ctx.resilient_parsing:
        return None
    from grader.files.solution.jigsaw import read_jigsaw, write_jigsaw

    return write_jigsaw(read_jigsaw(folder), _temporary_folder(ctx))


from_jigsaw_option = click.option(
    "--from-jigsaw",
    type=FOLDER,
    callback=_converted,
    help="The folder with Kaggle's test_public_expanded.csv and test_private_expanded.csv, instead of a "
    "solution file.",
)
role_option = click.option(
    "--role",
    "roles",
    callback=_roles,
    multiple=True,
    metavar="COLUMN=ROLE",
    help="The role of a column, if the guess is wrong, such as toxic=label. An unknown role lists all.",
)
evaluation_options = options(
    click.option("--label", help="The label column; by default target, label or toxicity."),
    names_option("--identities", "The identity columns; by default, they are guessed."),
    json_option,
    click.option(
        "--power",
        type=float,
        default=-5.0,
        help="Exponent of the power means; 0 is the geometric mean, inf the maximum and -inf the minimum.",
    ),
    click.option(
        "--weights",
        callback=_weights,
        metavar="W,W,W,W",
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


def undefined_option(default: str) -> Callable[[Command], Command]:
    """Return the option `--undefined`."""
    return click.option(
        "--undefined",
        type=click.Choice(["error", "skip"]),
        default=default,
        help="How to handle an undefined AUC: leave the score undefined (error) or omit the AUC from the "
        "power mean (skip).",
    )


def metric_settings(options: Mapping[str, Any]) -> "MetricSettings":
    """Return the metric settings in a command's options; raise UsageError for an invalid value."""
    from fairboard import MetricSettings

    try:
        return MetricSettings(
            power=options["power"],
            weights=options["weights"],
            label_threshold=options["threshold"],
            identity_threshold=options["threshold"],
            undefined=options.get("undefined", "error"),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


any_metric_options = options(
    click.option(
        "--metric",
        metavar="NAME",
        default="bias",
        help="The metric, such as rmse or macro_f1. An unknown name lists all. The options --columns, "
        "--classes, --positive, --cutoff, --groups, --weight and --reported are for metrics other than bias.",
    ),
    names_option("--columns", "The columns of a metric for several columns."),
    names_option("--classes", "The classes in order; by default, as in the solution."),
    click.option("--positive", metavar="CLASS", help="The positive class; by default, the larger number."),
    click.option(
        "--cutoff", type=click.IntRange(1, 1000), default=5, metavar="K", help="The classes for MAP@k."
    ),
    names_option("--groups", "Columns that divide the rows into groups."),
    click.option(
        "--weight",
        type=click.FloatRange(0, 1),
        default=1.0,
        metavar="W",
        help="The weight of the overall value. The rest is the weight of the power mean over the groups.",
    ),
    names_option("--reported", "Further metrics for the same columns."),
)
OF_OTHERS = ("columns", "classes", "positive", "cutoff", "groups", "weight", "reported")
_BIAS = ("identities", "prediction", "from_jigsaw", "power", "weights", "threshold", "min_size")


def require_options_of(metric: str) -> None:
    """Raise UsageError if an option for other metrics was given."""
    context, is_default = click.get_current_context(), metric == "bias"
    wrong = [
        each.opts[0]
        for each in context.command.params
        if each.name in (OF_OTHERS if is_default else (*_BIAS, "undefined"))
        and context.get_parameter_source(each.name) is ParameterSource.COMMANDLINE
    ]
    if wrong:
        reason = "specify a --metric other than bias" if is_default else "only for the metric bias"
        raise click.UsageError(f"{', '.join(wrong)}: {reason}.")
