"""Organizers' texts on pages: stored HTML and previews."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flask import url_for
from markupsafe import Markup

from grader.models import Announcement, Competition
from grader.prose.drawn import Drawn, FigureSource, plain
from grader.services.competitions import formatted_texts
from grader.worker import formatting
from grader.worker.isolated import Busy
from webapp.http.site import current_site


class Texts(NamedTuple):
    """The stored HTML of a competition's texts, and its figures."""

    slug: str
    stored: Mapping[str, Any]
    figures: tuple[FigureSource, ...]

    @classmethod
    def of(cls, session: Any, competition: Competition) -> "Texts":
        """Read the texts and figures of a competition."""
        figures = formatted_texts.figures_of(session, competition=competition)
        return cls(competition.slug, competition.formatted or {}, figures)

    def drawn(self, text: str) -> Drawn:
        """Return the stored HTML of a text, or its preview. Call this outside a transaction."""
        kept = self.stored.get(formatted_texts.key_of(text))
        if kept is not None:
            html = Markup(kept["html"])  # noqa: S704 - cleaned
            return Drawn(_with_addresses(html, self.slug), tuple(kept["faults"]))
        try:
            return self.preview(text)
        except Busy as error:
            return Drawn(plain(text), (error.message,))

    def preview(self, text: str) -> Drawn:
        """Return a text as HTML; raise Busy."""
        drawn = formatting.format_text(text, self.figures)
        return drawn._replace(html=_with_addresses(drawn.html, self.slug))


def stored(holder: Competition | Announcement, slug: str, text: str) -> Markup:
    """Return the stored HTML of a text, or the unformatted text if there is none."""
    kept = (holder.formatted or {}).get(formatted_texts.key_of(text)) if text else None
    html = plain(text) if kept is None else Markup(kept["html"])  # noqa: S704 - cleaned
    return _with_addresses(html, slug)


def format_saved(slug: str) -> None:
    """Format saved texts after the commit; the sweeper formats any that are left over."""
    with suppress(Busy):
        formatting.format_waiting(current_site().database, slug=slug)


def _with_addresses(html: Markup, slug: str) -> Markup:
    """Insert the site's figure URLs into HTML. Texts cannot contain a quoted `src` of their own."""
    source = '<img src="'
    return Markup(str(html).replace(f"{source}figures/", source + base(slug)))  # noqa: S704 - cleaned


def base(slug: str) -> str:
    """Return the start of the URLs of figures."""
    return url_for("competitions.figure", slug=slug, name="")
