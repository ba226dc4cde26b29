"""Imports of participants' commands: no server packages, and pandas only for tables."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = {"sqlalchemy", "flask", "celery", "pydantic", "alembic", "sklearn"}
AFTER = """
import json, sys
from grader.cli import main
try:
    main({arguments!r}, prog_name="fairboard")
except SystemExit as ended:
    code = ended.code or 0
loaded = sorted({{name.partition(".")[0] for name in sys.modules}})
print(json.dumps([code, loaded]), file=sys.stderr)
"""


def loaded_after(environment: dict[str, str], *arguments: str) -> tuple[int, set[str]]:
    """Run a command; return its exit code and the packages that were loaded when it exited."""
    code = AFTER.format(arguments=list(arguments))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    ended, loaded = json.loads(done.stderr.splitlines()[-1])
    return ended, set(loaded)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_submitting_loads_no_server_and_no_pandas(service, live_site, predictions_csv, tmp_path: Path):
    service.competition()
    (tmp_path / "p.csv").write_bytes(predictions_csv())
    environment = {"FAIRBOARD_SITE": live_site.address, "FAIRBOARD_TOKEN": live_site.make_token()}
    ended, loaded = loaded_after(environment, "submit", str(tmp_path / "p.csv"))
    assert ended == 0
    assert not loaded & (SERVER | {"pandas", "numpy"})
