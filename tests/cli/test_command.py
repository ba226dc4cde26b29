import json
import subprocess
import sys

import pytest

from grader.cli import main

SERVER_PACKAGES = {
    "sqlalchemy",
    "celery",
    "kombu",
    "redis",
    "flask",
    "pydantic",
    "pydantic_settings",
    "alembic",
}


def loaded_after(arguments):
    """Return the top-level packages that a process has loaded after running a command."""
    code = (
        "import json, sys\n"
        "from grader.cli import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "print('\\n' + json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [["--help"], ["score", "--help"]])
def test_help_loads_no_server_and_no_pandas(arguments):
    assert not loaded_after(arguments) & (SERVER_PACKAGES | {"numpy", "pandas"})


def test_scoring_files_loads_no_server(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("label,cat,model\n1,1,0.9\n0,1,0.2\n1,0,0.8\n0,0,0.1\n")
    assert not loaded_after(["score", str(path), "--prediction", "model"]) & SERVER_PACKAGES


def test_every_command_can_be_imported_and_has_a_help_page(run):
    for name in main.list_commands(None):
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
