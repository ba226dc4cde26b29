"""Log output of long-running commands, on stderr."""

import logging


def show_log(line_format: str) -> None:
    """Show our own log from INFO on, and that of libraries from WARNING on."""
    logging.basicConfig(level=logging.WARNING, format=line_format)
    logging.getLogger("grader").setLevel(logging.INFO)
