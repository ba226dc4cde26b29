"""Guardian process: when the supervisor has died, end the processes that it started.

It holds the reading end of a pipe whose only writer is the supervisor, so the end of the file is the end
of the supervisor, however it was killed. This works on every platform and reaches grandchildren too.
"""

import sys
from pathlib import Path

from grader.supervisor import leftovers


def main() -> None:
    """Wait for the end of standard input, then end the processes of the folder named as the argument."""
    while sys.stdin.buffer.read(1):
        pass
    leftovers.end(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
