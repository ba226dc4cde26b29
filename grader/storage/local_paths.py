"""Recognize paths on this machine, as opposed to addresses such as ``s3://bucket/x``."""

import re

# A scheme or a host (one letter is a drive of Windows) before a colon and a slash; user@host before a colon.
_ELSEWHERE = re.compile(r"(\w[\w.+-]+|\[[\da-fA-F:.]+\]):/|[\w.+-]+@[\w.:\[\]-]+:")


def is_elsewhere(path: str) -> bool:
    """Return whether a text is a URL or names another machine, where the path of a file or folder is wanted.

    Returns
    -------
    bool
        True also for ``file:`` URLs, for what became of a URL as a path, ``s3:/bucket``, and for
        ``user@host:x``. A path that really has such a name is written ``./s3:/bucket``.

    Examples
    --------
    >>> [is_elsewhere(path) for path in ("s3://bucket/x", "backup@host:/srv", "/srv/x", "./s3:/bucket")]
    [True, True, False, False]
    """
    return _ELSEWHERE.match(path.strip()) is not None


def refusal(path: str) -> str:
    """Return the sentence that refuses such a path."""
    return f"{path!r} is an address, and a path on this machine is needed, such as /srv/fairboard."
