"""The secret of a competition's feedback: what its noise and its sketches are drawn from."""

import secrets

from grader.models import Competition

KEY_BYTES = 32


def ensure(competition: Competition) -> None:
    """Give a competition its key if it has none; it never changes, or the same file would show another noise.

    The key is shown, exported and logged nowhere. With it people could take the noise away.
    """
    if competition.feedback_key is None:
        competition.feedback_key = secrets.token_hex(KEY_BYTES)
