"""Guardian process that stops the demo's service whenever the demo ends.

It reads from a pipe whose only writer is the demo, so the end of the file means that the demo has ended.
"""

import contextlib
import sys

import psutil  # type: ignore[import-untyped]


def main() -> None:
    """Wait until standard input closes, then terminate the process with the given id."""
    # This error is also raised if another process has reused the id.
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(int(sys.argv[1]))
        sys.stdin.buffer.read()
        process.terminate()


if __name__ == "__main__":
    main()
