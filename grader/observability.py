"""Log configuration for a process."""

from grader import logs
from grader.settings import LogLevel, Settings


def observe(process: str, settings: Settings) -> None:
    """Configure a process of the service."""
    logs.configure_process(process, log_format=settings.log_format, level=settings.log_level)


def observe_command(settings: Settings) -> None:
    """Configure a command, which logs only warnings and errors besides its output."""
    level = LogLevel.ERROR if settings.log_level is LogLevel.ERROR else LogLevel.WARNING
    logs.configure("command", log_format=settings.log_format, level=level)
