"""Version and build id of this installation."""

import subprocess
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("build.txt")  # written for wheels and images


def build_id() -> str:
    """Return the git commit of a checkout, wheel or image, or "unknown"."""
    if (ROOT / ".git").exists():
        command = ("git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12")
        with suppress(OSError, subprocess.SubprocessError):
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    elif FILE.exists():
        return FILE.read_text().strip()
    return "unknown"


def describe() -> str:
    """Return the version with the build id."""
    return f"{version('fairboard')} (build {build_id()})"
