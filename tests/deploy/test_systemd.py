"""systemd units: verification by systemd, common settings, commands in configurations."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import configuration
from tests.fixtures.programs import find_program

ROOT = Path(__file__).parents[2]
UNITS = sorted((ROOT / "deploy/systemd").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_accepts_the_unit(unit, tmp_path):
    analyze = find_program("systemd-analyze", command="apt-get install systemd")
    shutil.copytree(unit.parent, tmp_path / "units")
    copied = tmp_path / "units" / unit.name
    copied.write_text(copied.read_text().replace("/opt/fairboard/bin", str(Path(sys.executable).parent)))
    done = subprocess.run(
        [analyze, "verify", "--man=no", copied],
        env={"SYSTEMD_UNIT_PATH": f"{copied.parent}:"},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_units_permit_landlock_for_metrics_written_in_python():
    text = (ROOT / "deploy/systemd/fairboard-.service.d/common.conf").read_text()
    (permitted,) = re.findall(r"^SystemCallFilter=(.+)$", text, re.MULTILINE)
    calls = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
    assert calls <= set(permitted.split())


def test_commands_know_the_folders_of_the_units():
    text = (ROOT / "deploy/systemd/fairboard-.service.d/common.conf").read_text()
    assert f"EnvironmentFile=-{configuration.UNITS_FILE}\n" in text
    for name, value in configuration.UNITS_DEFAULTS.items():
        assert f"{name}={value} " in text


@pytest.mark.parametrize(("name", "installed"), [("nginx.conf", "nginx"), ("prometheus.yml", "prometheus")])
def test_commands_in_configurations_adapt_them_to_one_machine(name, installed, tmp_path):
    comments = re.findall(r"^#     (.+)$", (ROOT / "deploy" / name).read_text(), re.MULTILINE)
    (command,) = re.findall(r"sed .*?\.(?:conf|yml)$", "\n".join(comments), re.MULTILINE | re.DOTALL)
    assert command.endswith(f" > /etc/{installed}/{name}")
    command = command.replace(f"/etc/{installed}/{name}", str(tmp_path / name))
    subprocess.run(command, shell=True, cwd=ROOT, check=True)
    lines = [line for line in (tmp_path / name).read_text().splitlines() if not line.startswith("#")]
    text = "\n".join(lines)
    assert "127.0.0.1:7777;" in text or '["127.0.0.1:7777"]' in text
    for each in ("web:7777", "/run/secrets", "8443", "8080", "/tmp/nginx.pid"):
        assert each not in text
