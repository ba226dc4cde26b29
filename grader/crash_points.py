"""Crash points: named places in the code where tests kill the process, as with `kill -9`.

A crash point is inactive unless the variable FAIRBOARD_CRASH_AT contains its name: `name` for the first time
the point is reached, or `name:n` for the n-th time.
"""

import itertools
import os

VARIABLE = "FAIRBOARD_CRASH_AT"
EXIT_CODE = 137  # the exit code of a process after kill -9

_times = itertools.count(1)


def reach(name: str) -> None:
    """Terminate this process if the environment variable selects this crash point."""
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return
    chosen_name, _, turn = chosen.partition(":")
    if name == chosen_name and next(_times) >= int(turn or 1):
        os._exit(EXIT_CODE)
