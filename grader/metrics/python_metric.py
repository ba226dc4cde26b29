"""Metrics that organizers write in Python, computed in the sandbox.

The *scorer* has the labels, and returns only numbers or a code. The *checker* computes the same function with
made-up labels, so that its messages, which participants see, cannot contain a label.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairboard.interface import (
    ColumnKind,
    Columns,
    ColumnSpec,
    Description,
    Direction,
    Exactness,
    MetricResult,
    PreparedRows,
    RowArray,
    TermSpec,
)
from grader.sandbox import CallLimits, CallOutcome, CallStatus, SandboxClient, SandboxRequest, layers

MOST_SOURCE_BYTES = 100_000
MOST_MESSAGE_CHARACTERS = 280
MOST_TERMS = 20
_LARGEST_WHOLE = 2.0**53
_PACKAGES = {"numpy": "numpy", "pandas": "pandas", "scipy": "scipy", "scikit-learn": "sklearn"}
_ALPHABETS = (("0", "9"), ("A", "Z"), ("a", "z"), ("\x80", "\U0010ffff"))  # ranges that made-up texts replace
_TERM = re.compile(r"[a-z][a-z0-9_]{0,39}")

REASONS: Mapping[CallStatus, str] = {
    CallStatus.MESSAGE: "rejects the file",
    CallStatus.ERROR: "raises an error",
    CallStatus.WRONG_RESULT: "does not return a number",
    CallStatus.NOT_FINITE: "is not a finite number",
    CallStatus.MEMORY: "needs too much memory",
    CallStatus.TIME: "takes too long",
    CallStatus.DIED: "ends its process",
    CallStatus.BAD_REPLY: "ends without a result",
    CallStatus.NEGATIVE: "is negative, although it is declared to be never negative",
}


# The ends of a call that may depend on the machine, or that cost its time.
EXHAUSTED = frozenset({CallStatus.MEMORY, CallStatus.TIME, CallStatus.DIED, CallStatus.BAD_REPLY})


class UnsuitableSource(ValueError):
    """A metric.py that cannot be used."""


class MetricFailed(Exception):
    """The function failed; `status` is the only information for participants.

    `log` may contain labels and is for organizers only, so it is not part of the message.
    """

    def __init__(self, outcome: CallOutcome) -> None:
        super().__init__(f"The metric {REASONS[outcome.status]}.")
        self.status, self.log = outcome.status, outcome.log


@dataclass(frozen=True, slots=True)
class MetricSource:
    """The text of a metric.py, its function, and the hash under which it is stored.

    The function is Kaggle's `score` or MLE-bench's `grade`.
    """

    text: str
    function: str
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> "MetricSource":
        """Return the source in a file without executing it; raise UnsuitableSource."""
        if len(data) > MOST_SOURCE_BYTES:
            raise UnsuitableSource(f"The file may have at most {MOST_SOURCE_BYTES:,} bytes.")
        try:
            text = data.decode("utf-8-sig")
            tree = ast.parse(text)
        except SyntaxError as error:
            raise UnsuitableSource(f"Line {error.lineno or 1}: {error.msg}.") from error
        except (ValueError, RecursionError, MemoryError) as error:
            problem = "is not in UTF-8" if isinstance(error, ValueError) else "is nested too deeply"
            raise UnsuitableSource(f"The file {problem}.") from error
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        defined = {each.name: each.args for each in tree.body if isinstance(each, ast.FunctionDef)}
        counts = {name: len(each.posonlyargs + each.args) for name, each in defined.items()}
        if counts.get("score", 0) >= 3:
            return cls(text, "score", sha256)
        if counts.get("grade", 0) >= 2:
            return cls(text, "grade", sha256)
        raise UnsuitableSource(
            "The file must define score(solution, submission, row_id_column_name) or "
            "grade(submission, answers)."
        )


@dataclass(frozen=True, slots=True)
class PythonSettings:
    """The parameters of a Python metric in one competition.

    Attributes
    ----------
    id : str
        The name of the column with the ids.
    truth, predictions : tuple of ColumnSpec
        The columns of the solution and of a submission, without ids.
    whole : frozenset of str
        The columns that have whole numbers in the solution or the sample submission. They become int64, as
        with `read_csv`, unless a submission has other numbers in them.
    arguments : mapping
        Further arguments of `score`.
    terms : tuple of str
        The names of the values, first `score`, from the check.
    nonnegative : bool
        Whether the score is declared to be never negative, so that groups can be in it.
    checks_files : bool
        Whether files can be checked with made-up labels before they are scored.
    sample : str
        The hash of the sample submission from which the columns of a submission were read.
    """

    title: str = "Metric of the organizers"
    direction: Direction = Direction.HIGHEST
    decimals: int = 5
    id: str = "id"
    truth: tuple[ColumnSpec, ...] = ()
    predictions: tuple[ColumnSpec, ...] = ()
    whole: frozenset[str] = frozenset()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    terms: tuple[str, ...] = ("score",)
    limits: CallLimits = field(default_factory=CallLimits)
    nonnegative: bool = False
    checks_files: bool = True
    sample: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON data, without the usual limits of columns."""
        usual = asdict(ColumnSpec("")).items()
        columns = {
            name: [{**dict(asdict(each).items() - usual), "kind": each.kind} for each in getattr(self, name)]
            for name in ("truth", "predictions")
        }
        return {**asdict(self), **columns, "whole": sorted(self.whole)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "PythonSettings":
        """Create settings from the output of `as_dict`, also after JSON."""
        columns = {
            name: tuple(ColumnSpec(**{**each, "kind": ColumnKind(each["kind"])}) for each in data[name])
            for name in ("truth", "predictions")
        }
        others = {"direction": Direction(data["direction"]), "limits": CallLimits(**data["limits"])}
        sets = {"whole": frozenset(data["whole"]), "terms": tuple(data["terms"])}
        return cls(**{**data, **columns, **others, **sets})


@dataclass(frozen=True, eq=False)
class PythonMetric:
    """A metric in `source`. The columns of the truth include the ids; text is an array of objects."""

    source: MetricSource
    settings: PythonSettings
    sandbox: SandboxClient
    name: ClassVar[str] = "python"

    @classmethod
    def of(
        cls, settings: Mapping[str, Any], source: bytes | None = None, sandbox: SandboxClient | None = None
    ) -> "PythonMetric":
        """Return the metric of a scoring version's settings; without its source, it only describes itself."""
        parameters = PythonSettings.from_dict(settings["python"])
        known = MetricSource("", "", settings["source"])
        return cls(
            known if source is None else MetricSource.of(source), parameters, sandbox or SandboxClient()
        )

    @property
    def version(self) -> str:
        """The first half of the hash of the source, which fits into the column for versions."""
        return self.source.sha256[:32]

    @property
    def encoding(self) -> str:
        """The columns and types of the predictions, on which the encoding depends."""
        names = [each.name for each in self.settings.predictions]
        return json.dumps(["python", names, sorted(self.settings.whole & set(names))])

    def describe(self) -> Description:
        """Describe the metric."""
        settings = self.settings
        terms = tuple(TermSpec(name, name, settings.direction) for name in settings.terms if name != "score")
        sentence = "A function written by the organizers."
        columns = settings.truth, settings.predictions
        return Description(
            settings.title,
            sentence,
            settings.direction,
            Exactness.OPAQUE,
            *columns,
            terms,
            settings.decimals,
            is_nonnegative=settings.nonnegative,
        )

    def encode(self, predictions: Columns) -> Columns:
        """Return the predictions of all rows with the types of the sample submission."""
        return self._typed({each.name: predictions[each.name] for each in self.settings.predictions})

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedRows:
        """Return the rows of one split, without group columns that are no columns of the truth."""
        names = self.settings.id, *(each.name for each in self.settings.truth)
        table = self._typed({name: truth[name] for name in names})
        return PreparedRows(rows, {name: values[rows] for name, values in table.items()})

    def score(self, prepared: PreparedRows, encoded: Columns) -> MetricResult:
        """Compute the values of one file on one split, as the scorer; raise MetricFailed."""
        evidence: dict[str, Any] = {"packages": package_versions(), "sandbox": list(layers().in_force)}
        outcome = self.call(self.request(prepared, encoded))
        if outcome.status is not CallStatus.OK:
            raise MetricFailed(outcome)
        terms = dict(zip(self.settings.terms, outcome.numbers.tolist(), strict=True))
        return MetricResult(terms.pop("score"), terms, evidence)

    def check_file(self, made_up: PreparedRows, encoded: Columns) -> str | None:
        """Compute the score with made-up labels, as the checker; return the problem, for participants.

        Raises
        ------
        MetricFailed
            If the function needs too much time or memory, or ends its process.
        """
        outcome = self.call(replace(self.request(made_up, encoded), shows_messages=True))
        if outcome.status is CallStatus.MESSAGE:
            printable = "".join(each if each.isprintable() else " " for each in outcome.log)
            message = " ".join(printable.split())[:MOST_MESSAGE_CHARACTERS]
            return message or "The metric rejects the file."
        if outcome.status in EXHAUSTED:
            raise MetricFailed(outcome)
        return None if outcome.status is CallStatus.OK else f"The metric {REASONS[outcome.status]}."

    def request(self, prepared: PreparedRows, encoded: Columns) -> SandboxRequest:
        """Return the call of the function for one split."""
        name = self.settings.id
        submission = {each: values[prepared.rows] for each, values in encoded.items()}
        return SandboxRequest(
            self.source.text,
            self.source.function,
            solution=prepared.data,
            submission={name: prepared.data[name]} | submission,
            id=name,
            settings=self.settings.arguments,
            terms=self.settings.terms,
        )

    def call(self, request: SandboxRequest) -> CallOutcome:
        """Call the function with the limits of the settings."""
        outcome = self.sandbox.call(request, self.settings.limits)
        if self.settings.nonnegative and outcome.numbers[:1].min(initial=0) < 0:
            return replace(outcome, status=CallStatus.NEGATIVE)
        return outcome

    def _typed(self, columns: Columns) -> dict[str, NDArray[Any]]:
        """Return columns as from `read_csv`: whole numbers, truth values, missing values in texts."""
        typed = dict(columns)
        for name, values in columns.items():
            if values.dtype.kind == "O":
                distinct = set(values.tolist())
                if distinct and distinct <= {"True", "False"}:
                    typed[name] = values == "True"
                elif "" in distinct:
                    typed[name] = np.where(values == "", np.nan, values)
        for name in self.settings.whole & typed.keys():
            values = typed[name]
            if values.dtype.kind == "f" and np.all(
                (values == np.rint(values)) & (np.abs(values) <= _LARGEST_WHOLE)
            ):
                typed[name] = values.astype(np.int64)
        return typed


def term_names(outcome: CallOutcome) -> tuple[str, ...]:
    """Return the names in the reply to a request that describes; raise MetricFailed."""
    names = tuple(outcome.log.split("\n"))
    if len(names) <= MOST_TERMS and all(map(_TERM.fullmatch, names)):
        return names
    log = f"The function may return up to {MOST_TERMS} values with names such as f1_macro: {', '.join(names)}"
    raise MetricFailed(replace(outcome, status=CallStatus.WRONG_RESULT, log=log))


@cache
def package_versions() -> dict[str, str]:
    """Return the versions of the installed packages that a function may use, for receipts."""
    installed = {name: importlib.util.find_spec(module) for name, module in _PACKAGES.items()}
    return {name: importlib.metadata.version(name) for name, spec in installed.items() if spec}


def made_up_truth(truth: Columns, public: RowArray, *, id_column: str, seed: int | None = None) -> Columns:
    """Return a solution with random labels that have the distribution of the public rows.

    Values that occur often are drawn by row, so that one-hot columns stay one-hot. Other numbers are mixtures
    of two rows, which keeps sums and ranges. The letters and digits of other texts are replaced.

    Parameters
    ----------
    truth : mapping of str to ndarray
        The columns of the solution, with the ids in `id_column`, which are kept.
    public : ndarray of int
        The positions of the public rows.
    id_column : str
        The name of the column with the ids.
    seed : int, optional
        For tests. With a known seed, the labels of rows could be recovered from the random ones.
    """
    rng = np.random.default_rng(seed)
    rows = len(truth[id_column])
    public = public if len(public) > 1 else np.arange(rows)
    first = rng.integers(len(public), size=rows)
    second = first + rng.integers(1, max(len(public), 2), size=rows)  # another row
    one, other = public[first], public[second % len(public)]
    share = rng.random(rows)
    made_up = dict(truth)
    for name, values in truth.items():
        if name == id_column:
            continue
        drawn, known = values[one], values[public]
        distinct = len(set(known.tolist())) if known.dtype.kind == "O" else len(np.unique(known))
        if distinct * 2 > len(public):
            if values.dtype.kind == "O":
                drawn = _scrambled(drawn, rng)
            else:
                mixed = share * drawn + (1 - share) * values[other]
                drawn = np.rint(mixed).astype(values.dtype) if values.dtype.kind in "iu" else mixed
        made_up[name] = drawn
    return made_up


def _scrambled(values: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return texts with other digits and letters; missing values stay."""
    is_text = np.array([isinstance(each, str) for each in values], dtype=bool)
    joined = "\0".join(each.replace("\0", " ") for each in values[is_text])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4").copy()
    for first, last in _ALPHABETS:
        replaced = np.flatnonzero((codes >= ord(first)) & (codes <= ord(last)))
        low, high = (first, last) if last <= "z" else ("a", "z")
        codes[replaced] = rng.integers(ord(low), ord(high) + 1, replaced.size)
    scrambled = values.copy()
    scrambled[is_text] = codes.tobytes().decode("utf-32-le").split("\0")
    return scrambled
