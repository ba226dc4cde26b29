"""The parts that the pages are made of, all on one page, in both themes."""

from datetime import UTC, datetime, timedelta

from flask import Blueprint, render_template

from webapp.presentation import formats

blueprint = Blueprint("design", __name__)
# A fixed moment: the page is the same for everybody and at any time.
MOMENT = datetime(2026, 3, 14, 23, 58, tzinfo=UTC)


@blueprint.get("/design")
def show() -> str:
    """Show every part in both themes."""
    return render_template(
        "design.html", moment=MOMENT, later=MOMENT + timedelta(days=3650), shades=formats.SHADES
    )
