"""Guardian process of the demo: ends the service when the demo ends for any reason.

It holds the reading end of a pipe whose only writer is the demo: the end of the file is the end of the demo.
"""

import contextlib
import sys

import psutil  # type: ignore[import-untyped]


def main() -> None:
    """Wait for the end of standard input, then end the process whose id is the argument."""
    with contextlib.suppress(psutil.NoSuchProcess):  # nor is it another process that got the same id
        process = psutil.Process(int(sys.argv[1]))
        sys.stdin.buffer.read()
        process.terminate()


if __name__ == "__main__":
    main()
