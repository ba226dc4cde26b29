"""E-mails rendered from the templates in `letters.toml`."""

import tomllib
from collections.abc import Iterable
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.orm import Session

from grader.models import User
from grader.services.site import outbox
from grader.services.site.outbox import Notice

if TYPE_CHECKING:
    from jinja2 import Environment

TEXTS = Path(__file__).with_suffix(".toml")


def subject(letter: str, **values: Any) -> str:
    """Return the subject of an e-mail."""
    return _templates().get_template(f"{letter}.subject").render(values)


def body(letter: str, **values: Any) -> str:
    """Return the body of an e-mail."""
    return _templates().get_template(f"{letter}.body").render(values, site=outbox.SITE)


def send(
    session: Session,
    letter: str,
    users: Iterable[User],
    *,
    kind: Notice,
    key: str,
    now: datetime,
    **values: Any,
) -> int:
    """Queue an e-mail to each of these users who wants it, as `outbox.notify` does; return their number."""
    wanted = [user for user in users if outbox.is_wanted(user, kind)]
    if not wanted:  # on sites without e-mail, no address is verified
        return 0
    about, text = subject(letter, **values), body(letter, **values)
    same = ((user, text) for user in wanted)
    return outbox.notify(session, same, kind=kind, key=key, subject=about, now=now)


def send_to_address(session: Session, letter: str, address: str, /, *, now: datetime, **values: Any) -> None:
    """Queue an e-mail about an account, which users cannot switch off."""
    about, text = subject(letter, **values), body(letter, **values)
    outbox.write(session, to_address=address, subject=about, body=text, now=now)


@cache
def _templates() -> "Environment":
    # A top-level import would slow down the start of every scoring process.
    from jinja2 import DictLoader, Environment, StrictUndefined

    letters = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    texts = {f"{name}.{part}": text for name, letter in letters.items() for part, text in letter.items()}
    return Environment(
        loader=DictLoader(texts),
        autoescape=False,  # noqa: S701 - e-mails are plain text
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        cache_size=len(texts),
    )
