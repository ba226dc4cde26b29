"""The command `fairboard` as a whole: lazy imports, help, completion, usage errors."""

import json
import os
import subprocess
import sys

import pytest

from grader.cli import main

SERVER_PACKAGES = {"sqlalchemy", "celery", "kombu", "redis", "flask", "pydantic", "alembic", "sklearn"}
AFTER = """
import json, sys
from grader.cli import main
try:
    main({arguments!r}, prog_name="fairboard")
except SystemExit as ended:
    code = ended.code or 0
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def loaded_after(arguments, **environment):
    """Run a command without an error; return its output and the modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER.format(arguments=arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *output, last = done.stdout.splitlines()
    code, loaded = json.loads(last)
    assert code == 0, done.stderr
    return output, loaded


def packages_after(arguments, **environment):
    return {name.partition(".")[0] for name in loaded_after(arguments, **environment)[1]}


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"]])
def test_help_loads_no_server_and_no_pandas(arguments):
    assert not packages_after(arguments) & (SERVER_PACKAGES | {"numpy", "pandas"})


def test_scoring_files_loads_no_server(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("label,cat,model\n1,1,0.9\n0,1,0.2\n1,0,0.8\n0,0,0.1\n")
    assert not packages_after(["score", str(path), "--prediction", "model"]) & SERVER_PACKAGES


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_submitting_loads_no_server_and_no_pandas(service, live_site, predictions_csv, tmp_path):
    service.competition()
    (tmp_path / "p.csv").write_bytes(predictions_csv())
    site = {"FAIRBOARD_SITE": live_site.address, "FAIRBOARD_TOKEN": live_site.make_token()}
    loaded = packages_after(["submit", str(tmp_path / "p.csv")], **site)
    assert not loaded & (SERVER_PACKAGES | {"pandas", "numpy"})


def test_names_of_commands_are_completed_without_loading_one():
    asked = {"_FAIRBOARD_COMPLETE": "bash_complete", "COMP_WORDS": "fairboard subm", "COMP_CWORD": "1"}
    completed, loaded = loaded_after([], **asked)
    assert [*filter(None, completed)] == ["plain,submission", "plain,submissions", "plain,submit"]
    ours = [name for name in loaded if name.startswith("grader.cli")]
    assert ours == ["grader.cli", "grader.cli.group"]


@pytest.mark.parametrize("name", main.list_commands(None))
def test_every_command_can_be_imported_and_has_a_help_page(run, name):
    result = run(name, "--help")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Usage: fairboard {name}")


@pytest.mark.parametrize(
    ("arguments", "meant"), [(("usr", "create"), "user"), (("user", "creat"), "create"), (("tokn",), "token")]
)
def test_a_mistyped_command_gets_a_suggestion(run, arguments, meant):
    assert f"Did you mean '{meant}'?" in run(*arguments).stderr


@pytest.mark.parametrize("arguments", [(), ("no-such-command",), ("--no-such-option",), ("user", "create")])
def test_usage_errors_exit_with_1(run, arguments):
    assert run(*arguments).exit_code == 1


def test_a_command_without_its_packages_explains_the_installation():
    without = "import sys; sys.modules['sqlalchemy'] = None"
    code = f"{without}; from grader.cli import main; main(['user', 'create', 'x'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "`user create` needs sqlalchemy, which is not installed" in done.stderr
    assert "pip install './fairboard-VERSION-py3-none-any.whl[server]'" in done.stderr
