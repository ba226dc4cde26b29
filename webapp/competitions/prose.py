"""Organizers' texts of a competition as they are shown: with its figures and formulas."""

from typing import Any

from flask import url_for
from markupsafe import Markup

from grader.models import Competition
from grader.services.figures import figures
from webapp.presentation import markdown
from webapp.presentation.markdown import Drawn, Figure

PICTURE = "!["  # without one a text needs no look at the figures


def rendered(session: Any, competition: Competition, *texts: str) -> list[Markup]:
    """Return texts as HTML."""
    return [each.html for each in drawn(session, competition, *texts)]


def drawn(session: Any, competition: Competition, *texts: str) -> list[Drawn]:
    """Return texts as HTML, with what is wrong with each."""
    known = shown_figures(session, competition) if any(PICTURE in text for text in texts) else ()
    return [markdown.drawn(text, known) for text in texts]


def shown_figures(session: Any, competition: Competition) -> tuple[Figure, ...]:
    """Return the figures of a competition with their addresses, which change with their bytes."""
    return tuple(
        Figure(
            each.name,
            url_for("figures.show", slug=competition.slug, name=each.name, version=each.sha256[:12]),
            each.width,
            each.height,
        )
        for each in figures.list_all(session, competition=competition)
    )
