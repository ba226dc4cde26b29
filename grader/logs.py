"""Structured logs: one event per line with the ids of the current request or job, as JSON or text."""

import json
import logging
import re
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # processes without access to the settings do not need them
    from grader.settings import Settings

OURS = ("grader", "webapp")
WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_INVISIBLE = r"\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff"
_CONTROL = re.compile(rf"[\x00-\x1f\x7f-\x9f\ud800-\udfff{_INVISIBLE}]")
_encode = json.JSONEncoder(default=str).encode
_OF_EVERY_RECORD = vars(logging.makeLogRecord({})).keys() | {"message", "asctime", "taskName"}
_IN_THE_HEAD = frozenset({"time", "level", "process", "pid", "event", "exception", "logger"})

_ids: ContextVar[Mapping[str, Any] | None] = ContextVar("ids", default=None)
_in_force = {"log_format": "console", "level": "info"}


@contextmanager
def bound(**values: Any) -> Iterator[None]:
    """Add ids to all events of the block, including those that `bind` adds within it."""
    token = _ids.set({**(_ids.get() or {}), **values})
    try:
        yield
    finally:
        _ids.reset(token)


def bind(**values: Any) -> None:
    """Add ids to the remaining events of the innermost block; outside of a block, do nothing."""
    if (current := _ids.get()) is not None:
        _ids.set({**current, **values})


def ids() -> dict[str, Any]:
    """Return the currently bound ids."""
    return dict(_ids.get() or {})


def configure(process: str, *, log_format: str, level: str) -> None:
    """Write the events of this process to standard error; libraries log only warnings and errors.

    At a lower level, libraries would log SQL parameters and URLs with secrets.
    """
    _in_force.update(log_format=log_format, level=level)
    number = logging.getLevelNamesMapping()[level.upper()]
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, LineLogger)]:
        root.removeHandler(handler)
    root.addHandler(LineLogger(process, log_format))
    root.setLevel(max(number, logging.WARNING))
    for name in OURS:
        logging.getLogger(name).setLevel(number if number < logging.WARNING else logging.NOTSET)
    for name in ("gunicorn.error", "gunicorn.access"):
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True


def configure_process(process: str, *, log_format: str, level: str) -> None:
    """Configure a process of the service, including its warnings and uncaught errors."""
    configure(process, log_format=log_format, level=level)
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda failed: _log_uncaught(
        failed.exc_type, failed.exc_value or failed.exc_type(), failed.exc_traceback
    )


def observe(process: str, settings: "Settings") -> None:
    """Configure a process of the service."""
    configure_process(process, log_format=settings.log_format, level=settings.log_level)


def in_force() -> dict[str, str]:
    """Return the arguments of `configure_process` with which a child logs like this process."""
    return dict(_in_force)


def announce(text: str) -> None:
    """Print a text of `serve` for operators on standard output, as an event if the format is JSON.

    It may contain the secret of a setup link, which must not be logged.
    """
    if _in_force["log_format"] == "json":
        record = {"name": OURS[0], "levelno": logging.INFO, "levelname": "INFO", "msg": text}
        text = LineLogger("serve", "json").format(logging.makeLogRecord(record))
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class LineLogger(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes each event of the project, and library warnings, as one line."""

    def __init__(self, process: str, log_format: str) -> None:
        logging.Handler.__init__(self)  # the stream is not fixed
        self._process, self._render = process, _encode if log_format == "json" else _line

    @property
    def stream(self) -> TextIO:
        """Return the current standard error."""
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether an event is written; some libraries set the level of their loggers themselves."""
        return record.levelno >= logging.WARNING or record.name.partition(".")[0] in OURS

    def format(self, record: logging.LogRecord) -> str:
        """Return an event in the configured format."""
        event = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname.lower(),
            "process": self._process,
            "pid": record.process,
            "event": record.getMessage(),
            "logger": record.name,
            **(_ids.get() or {}),
            **{name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD},
        }
        if record.exc_info and record.exc_info[0]:
            event["exception"] = "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return self._render(event)


def _line(event: Mapping[str, Any]) -> str:
    """Return an event as text; the lines of a traceback are marked, so that none looks like an event."""
    values = " ".join(f"{name}={value}" for name, value in event.items() if name not in _IN_THE_HEAD)
    head = f"{event['time'][:23]}Z {event['level']:<7} {event['process']}: {event['event']}"
    lines = [_escaped(f"{head}  [{values}]" if values else head)]
    lines += [f"    | {_escaped(each)}" for each in event.get("exception", "").split("\n") if each]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _log_uncaught(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    if issubclass(kind, SystemExit | KeyboardInterrupt):
        return
    logging.getLogger("grader").critical("Uncaught error", exc_info=(kind, error, trace))
