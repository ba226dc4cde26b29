"""End a child process: ask first, then by force."""

import subprocess

HAND_BACK_SECONDS = 2


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to hand back what it has, and end it by force if it does not end soon."""
    process.terminate()
    try:
        process.wait(HAND_BACK_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
