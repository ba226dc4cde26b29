"""Log lines: formats, ids, escaping, levels of libraries."""

import json
import logging
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import logs

FORMATS = ("console", "json")


@pytest.fixture(autouse=True)
def restored():
    """Restore the configuration of all loggers after a test."""
    loggers = [logging.getLogger(name) for name in (None, *logs.OURS)]
    before = [(each, each.level, list(each.handlers)) for each in loggers]
    yield
    for each, level, handlers in before:
        each.setLevel(level)
        each.handlers[:] = handlers


def line(log_format, event, **values):
    """Return an event as it is written."""
    record = logging.LogRecord("grader.x", logging.INFO, "x.py", 1, event, None, None)
    record.__dict__.update(values)
    return logs.LineLogger("web", log_format).format(record)


@pytest.mark.parametrize("log_format", FORMATS)
@given(text=st.text() | st.text("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\x1b\u202e", min_size=1))
def test_no_text_ends_a_line_or_controls_a_terminal(log_format, text):
    written = line(log_format, f"a {text}", value=text)
    assert len(written.splitlines()) == 1
    assert not [each for each in written if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")]
    assert not set(written) & set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_json_event_has_the_ids_of_its_block_and_the_values_of_its_call(capsys):
    logs.configure("web", log_format="json", level="info")
    with logs.bound(request="r1"):
        logs.bind(route="/x")
        logging.getLogger("webapp.x").info("Done: %s", 1, extra={"status": 200})
    logs.bind(route="/outside")
    logging.getLogger("webapp.x").info("Later")
    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["level"], first["process"]) == ("Done: 1", "info", "web")
    assert (first["request"], first["route"], first["status"]) == ("r1", "/x", 200)
    assert not {"request", "route", "status"} & second.keys()


def fail(message):
    raise ValueError(message)


def test_a_traceback_is_part_of_a_json_event_and_marked_in_text(capsys):
    forged = "2030-01-01T00:00:00.000Z info    web: forged"
    for log_format in FORMATS:
        logs.configure("web", log_format=log_format, level="info")
        try:
            fail(f"bad\n{forged}")
        except ValueError:
            logging.getLogger("grader.x").exception("Failed")
        lines = capsys.readouterr().err.splitlines()
        if log_format == "json":
            assert len(lines) == 1 and forged in json.loads(lines[0])["exception"]
        else:
            assert lines[-1] == f"    | {forged}"
            assert all(each.startswith("    | ") for each in lines[1:])


def test_libraries_log_only_warnings_because_they_would_log_parameters_and_urls(capsys):
    logs.configure("web", log_format="console", level="debug")
    chatty = logging.getLogger("chatty.library")
    chatty.setLevel(logging.DEBUG)
    chatty.info("SELECT %s", "s3cret")
    logging.getLogger("grader.x").debug("Ours")
    chatty.warning("Careful")
    shown = capsys.readouterr().err
    assert "s3cret" not in shown and "Ours" in shown and "Careful" in shown
    chatty.setLevel(logging.NOTSET)


@pytest.mark.parametrize("log_format", FORMATS)
def test_uncaught_errors_of_threads_and_processes_are_events(log_format):
    program = (
        "import threading, warnings; from grader import logs; "
        f"logs.configure_process('web', log_format={log_format!r}, level='info'); "
        "warnings.warn('two\\nlines'); "
        "thread = threading.Thread(target=lambda: 1 / 0); thread.start(); thread.join(); 1 / 0"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    events = [each for each in done.stderr.splitlines() if not each.startswith("    | ")]
    assert ["Uncaught error" in each for each in events] == [False, True, True]


def test_a_child_logs_like_its_parent():
    logs.configure("web", log_format="json", level="error")
    program = f"from grader import logs; logs.configure_process('checker', **{logs.in_force()}); 1 / 0"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    event = json.loads(done.stderr)
    assert (event["process"], event["level"]) == ("checker", "critical")
    logs.configure("web", log_format="console", level="info")
