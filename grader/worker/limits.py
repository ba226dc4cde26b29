"""The limits of a scoring process: the sandbox that a poison file dies in."""

import resource
import signal


def limit_memory(megabytes: int) -> None:
    """Limit this process's address space; past it an allocation raises MemoryError."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = megabytes * 1024 * 1024
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def end_process_after(seconds: int) -> None:
    """End this process when `seconds` have passed, even inside a loop of C code; 0 calls it off."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)
