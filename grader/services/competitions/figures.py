"""Figures in competition texts: image validation, upload, listing, removal."""

import re
import struct
from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from typing import NamedTuple

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal, Refusal
from grader.models import Announcement, Competition, Figure
from grader.models.competitions import TEXTS
from grader.services.competitions.acting import Act
from grader.storage.stores import StoredBlob
from grader.text import is_storable, one_line

MAX_BYTES = 2_000_000
MAX_COUNT = 50
MAX_SIDE = 10_000  # pixels; a browser needs memory for each pixel even if the file is small
SUFFIXES = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/webp": (".webp",),
}
_STARTS = {
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n.{4}IHDR.{17}", re.DOTALL),
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/webp": re.compile(rb"RIFF.{4}WEBPVP8", re.DOTALL),
}
_FIGURE = "!["  # matches the start of each image in Markdown
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Picture(NamedTuple):
    """The media type of an image and its size in pixels."""

    media_type: str
    width: int
    height: int


def picture_of(data: bytes) -> Picture | None:
    """Return the type and size of a PNG, JPEG or WebP image; None if the header is not valid."""
    media_type = next((kind for kind, start in _STARTS.items() if start.match(data)), None)
    if media_type is None:
        return None
    try:
        import imagesize  # the sweeper does not need it

        width, height = imagesize.get(BytesIO(data))
    except (ValueError, struct.error):
        return None
    return Picture(media_type, width, height) if min(width, height) > 0 else None


def invalid(message: str) -> OrganizerRefusal:
    """Return the refusal of a figure that cannot be added."""
    return OrganizerRefusal("invalid_figure", ErrorKind.CONFLICT, message)


def list_all(session: Session, *, competition: Competition) -> Sequence[Figure]:
    """Return the figures of a competition by name."""
    query = select(Figure).where(Figure.competition_id == competition.id).order_by(Figure.name)
    return session.scalars(query).all()


def get(session: Session, *, competition: Competition, name: str) -> Figure:
    """Return a figure of a competition; raise Refusal."""
    query = select(Figure).where(Figure.competition_id == competition.id, Figure.name == name)
    figure = session.scalar(query) if is_storable(name) else None
    if figure is None:
        raise Refusal("unknown_figure", ErrorKind.NOT_FOUND, f"This competition has no figure {name!r}.")
    return figure


def checked(name: str, data: bytes) -> tuple[str, Picture]:
    """Return the stored name and the image type of a figure; raise OrganizerRefusal.

    SVG images are rejected because they can contain scripts and external references.
    """
    if len(data) > MAX_BYTES:
        raise invalid(f"The figure has {len(data):,} bytes. The limit is {MAX_BYTES // 1_000_000} MB.")
    picture = picture_of(data)
    if picture is None:
        raise invalid("The figure is not a PNG, JPEG or WebP image. Convert it to one of these formats.")
    if max(picture.width, picture.height) > MAX_SIDE:
        raise invalid(
            f"The figure has {picture.width:,} by {picture.height:,} pixels. The limit is {MAX_SIDE:,} on "
            "each side."
        )
    return _name_of(name, picture), picture


def add(act: Act, *, name: str, picture: Picture, blob: StoredBlob) -> Figure:
    """Add an image that `checked` accepted, or replace the one with the same name; raise OrganizerRefusal."""
    figures = {each.name: each for each in list_all(act.session, competition=act.competition)}
    earlier = figures.get(name)
    if earlier is None and len(figures) >= MAX_COUNT:
        raise invalid(f"This competition has reached the limit of {MAX_COUNT} figures. Remove one first.")
    before = {} if earlier is None else _facts(earlier)
    figure = earlier or Figure(competition_id=act.competition.id, name=name)
    figure.sha256, figure.size_bytes, figure.uploaded_at = blob.sha256, blob.size, act.now
    figure.media_type, figure.width, figure.height = picture
    act.session.add(figure)
    act.session.flush()
    _format_again(act.session, act.competition)
    act.record("figure.upload", f"figure {name}", before=before, after=_facts(figure))
    return figure


def remove(act: Act, *, name: str) -> None:
    """Delete a figure; raise Refusal. Its blob is deleted later, with other orphaned blobs."""
    figure = get(act.session, competition=act.competition, name=name)
    act.session.delete(figure)
    _format_again(act.session, act.competition)
    act.record("figure.remove", f"figure {name}", before=_facts(figure))


def copy_all(session: Session, *, source: Competition, draft: Competition, now: datetime) -> None:
    """Copy the figures of another competition to a draft; the blobs are shared."""
    names = ("name", "media_type", "sha256", "size_bytes", "width", "height")
    for each in list_all(session, competition=source):
        copied = {name: getattr(each, name) for name in names}
        session.add(Figure(competition_id=draft.id, uploaded_at=now, **copied))


def _format_again(session: Session, competition: Competition) -> None:
    """Delete the stored HTML of texts with figures, because their figures may have changed."""
    if any(_FIGURE in getattr(competition, name) for name in TEXTS):
        competition.formatted = None
    here = Announcement.competition_id == competition.id, Announcement.body.contains(_FIGURE, autoescape=True)
    session.execute(update(Announcement).where(*here).values(formatted=None))


def _name_of(name: str, picture: Picture) -> str:
    """Return a name that is valid in URLs and Markdown, with the suffix of the image type."""
    last = one_line(name.replace("\\", "/").rpartition("/")[2], 255).replace(" ", "-").lower()
    suffixes = SUFFIXES[picture.media_type]
    if not last.endswith(suffixes):
        last = f"{last.rpartition('.')[0] or last}{suffixes[0]}"
    if not _NAME.fullmatch(last):
        raise invalid(
            f"The name {last!r} is invalid. Use 1 to 80 characters (letters a to z, digits, and . _ -) and "
            "start with a letter or digit."
        )
    return last


def _facts(figure: Figure) -> dict[str, object]:
    return {"sha256": figure.sha256, "size_bytes": figure.size_bytes, "media_type": figure.media_type}
