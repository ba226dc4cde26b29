"""Integrations with the real packages, in an environment of requirements/integrations.lock.

torch is installed from the wheel for CPUs if pip finds one, for example in PyTorch's own index.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]
CHECKS = ("fairlearn", "inspect_ai", "evaluate", "torch", "documentation")
TORCH = ("torch==2.13.0+cpu", "torchmetrics==1.9.0")
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the locked packages."""
    folder = tmp_path_factory.mktemp("integrations") / "env"
    python, uv = folder / "bin" / "python", ROOT / ".venv/bin/uv"
    lock = ROOT / "requirements" / "integrations.lock"
    install = (uv, "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--python", python)
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    for command in ((uv, "venv", "--quiet", "--python", sys.executable, folder), (*install, "-r", lock)):
        subprocess.run(command, check=True, timeout=10 * HANG_SECONDS)
    subprocess.run([*pip, *TORCH], check=False, capture_output=True, timeout=10 * HANG_SECONDS)
    return python


@pytest.mark.parametrize("check", CHECKS)
def test_integration_works_with_the_real_package(check: str, python: Path, tmp_path: Path):
    done = subprocess.run(
        [
            *(python, "-m", "pytest", "-q", "-rs", "--noconftest", "-c", os.devnull, "--rootdir", tmp_path),
            ROOT / "tests" / "integrations" / "real" / f"check_{check}.py",
        ],
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "HF_HUB_OFFLINE": "1",
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=10 * HANG_SECONDS,
    )
    if check == "torch" and done.returncode == 5:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", ["sklearn", "fairlearn", "inspect_ai", "accumulator"])
def test_docstring_examples_run(module: str, python: Path):
    code = (
        f"import doctest, fairboard.{module} as m; "
        "names = [each for each in vars(m).values() if getattr(each, '__module__', '') == m.__name__]; "
        "[doctest.run_docstring_examples(each, vars(m)) for each in names]"
    )
    done = subprocess.run(
        [python, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
