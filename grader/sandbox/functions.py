"""Call of an organizer's function in a sandboxed process, and the bytes of the reply.

The reply is a log, the numbers as float64, and one status byte, which cannot carry anything but text for the
organizers, numbers and one of a few codes.
"""

import ast
import importlib
import io
import math
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

PACKAGES = ("numpy", "pandas", "scipy", "sklearn")
# SciPy and scikit-learn take three quarters of the start, so only sources with these words need them.
_WORDS = {
    "scipy": ("scipy", "sklearn", "spearman", "kendall", "interpolate", "win_type", "sparse"),
    "sklearn": ("sklearn",),
}
READY = b"ready"  # the first message of a zygote
MOST_LOG_BYTES = 16_384
OK, MESSAGE, ERROR, WRONG_RESULT, NOT_FINITE, MEMORY = range(6)
# Modules of the standard library that start programs or open windows when they are imported.
_NEVER = {"antigravity", "idlelib", "test", "this", "tkinter", "turtle", "turtledemo"}
# The classes of errors whose message is for participants, by name, because each metric defines its own.
_FOR_PARTICIPANTS = {"ParticipantVisibleError", "InvalidSubmissionError"}


class _WrongResult(TypeError):
    """The function returned an unexpected value."""


class _Log(io.TextIOBase):
    """A text stream that keeps the last characters."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text = (self.text + text)[-MOST_LOG_BYTES:]
        return len(text)


def warm_up() -> None:
    """Run the lazy initialization of packages in advance, because sandboxed processes could not run it."""
    for name in ("encodings.idna", "encodings.latin_1", "encodings.utf_16", "_strptime"):
        importlib.import_module(name)
    if "pandas" not in sys.modules:
        return
    importlib.import_module("grader.sandbox.compatibility").register()
    texts = np.array(["x", None, "y"] * 3, dtype=object)
    for _ in range(20):
        frame = _frame({"id": np.arange(9), "a": np.linspace(0, 1, 9), "b": texts})
        (frame["a"] - frame["a"].mean()).abs().clip(0, 1).sum(), frame.sort_values("id")["b"].isna()
        if metrics := sys.modules.get("sklearn.metrics"):
            with suppress(Exception):
                classes = (frame["a"] > frame["a"].mean()).astype(int)
                metrics.roc_auc_score(classes, frame["a"]), metrics.log_loss(classes, frame["a"])
                metrics.f1_score(classes, classes), metrics.mean_squared_error(classes, frame["a"])
                metrics.pairwise_distances(frame[["a"]])
    if "sklearn" in sys.modules:
        with suppress(Exception):
            importlib.import_module("sklearn.utils.parallel")._get_threadpool_controller()


def packages_of(source: str) -> tuple[str, ...]:
    """Return the packages that a source may use, also through pandas."""
    return tuple(each for each in PACKAGES if any(word in source for word in _WORDS.get(each, ("",))))


def import_modules_of(source: str) -> None:
    """Import the modules that a source names anywhere, before the process is locked."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        names = set[str]()
        for each in ast.walk(ast.parse(source)):
            if isinstance(each, ast.Import):
                names |= {alias.name for alias in each.names}
            elif isinstance(each, ast.ImportFrom) and each.module and not each.level:
                names |= {each.module, *(f"{each.module}.{alias.name}" for alias in each.names)}
        importable = {*sys.stdlib_module_names, *PACKAGES} - _NEVER
        for name in sorted(names):
            if name.partition(".")[0] in importable and "__main__" not in name:
                with suppress(Exception):
                    importlib.import_module(name)


def reply(request: Mapping[str, Any]) -> bytes:
    """Call the function of a request, and return the reply."""
    log = _Log()
    sys.stdout = sys.stderr = log
    numbers: Any = ()
    try:
        numbers = np.asarray(_numbers(request, log), dtype="<f8")
        status = OK if np.isfinite(numbers).all() else NOT_FINITE
    except MemoryError:
        status, log.text = MEMORY, log.text[-1024:]
    except BaseException as error:
        kinds = {each.__name__ for each in type(error).__mro__}
        status = ERROR
        if isinstance(error, _WrongResult):
            status = WRONG_RESULT
        elif request["shows_messages"] and _FOR_PARTICIPANTS & kinds:
            status, log.text = MESSAGE, ""
        with suppress(BaseException):  # an error may have an own text, which fails
            log.write(str(error) if status in (MESSAGE, WRONG_RESULT) else _traceback(error))
    if status not in (OK, NOT_FINITE):
        numbers = [math.nan] * len(request["terms"])
    text = log.text.encode("utf-8", "replace")[-MOST_LOG_BYTES:]
    return text + np.asarray(numbers, dtype="<f8").tobytes() + bytes([status])


def _traceback(error: BaseException) -> str:
    """Return the traceback within the organizer's source."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == "metric.py"]
    lines = [f"Line {each.lineno}, in {each.name}" for each in frames[-10:]]
    return "\n".join([*lines, "".join(traceback.format_exception_only(error)).strip()])


def _numbers(request: Mapping[str, Any], log: _Log) -> Any:
    module = ModuleType("metric")
    sys.modules["metric"] = module  # pickles and dataclasses look it up
    exec(compile(request["source"], "metric.py", "exec"), module.__dict__)  # noqa: S102 - what this is for
    call: Callable[..., Any] = getattr(module, request["function"])
    solution, submission = _frame(request["solution"]), _frame(request["submission"])
    if request["function"] == "score":
        result = call(solution, submission, request["id"], **request["settings"])
    else:
        result = call(submission, solution)
    values = _values(result)
    if request["describes"]:
        score = next(iter(values.values()))
        log.text = "\n".join(values) if math.isfinite(score) else log.text
        return [score]
    if values.keys() != set(request["terms"]):
        raise _WrongResult(f"The names of the values must always be {', '.join(request['terms'])}")
    return [values[name] for name in request["terms"]]


def _frame(columns: Mapping[str, Any]) -> Any:
    return importlib.import_module("pandas").DataFrame(dict(columns))


def _values(result: Any) -> dict[str, float]:
    """Return the values that the function returned, first the score."""
    if not isinstance(result, Mapping):
        return {"score": _number(result)}
    names = [name for name in result if isinstance(name, str)]
    if not names or len(names) < len(result) or "score" in names[1:]:
        raise _WrongResult(
            "The result must be a number, or a dictionary with names whose first value is the score"
        )
    return {"score": _number(result[names[0]])} | {name: _number(result[name]) for name in names[1:]}


def _number(value: Any) -> float:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise _WrongResult(f"The result must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        return math.inf
