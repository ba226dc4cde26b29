"""Hand an uploaded file from a page or the API to the checker, and return what it found."""

from contextlib import suppress
from functools import partial

from flask import g

from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.solutions import other_labels
from grader.worker.checking.checker import Checked
from grader.worker.process.shares import ShareUsed
from webapp.http.site import current_site
from webapp.submissions.uploads import Upload


def check(competition: Competition, upload: Upload) -> Checked | None:
    """Return all problems and notes of a file; None if there was no time; scoring then finds them.

    Raises ShareUsed where the person had enough checked for now.
    """
    site = current_site()
    with site.database.read() as session:
        names = other_labels.names(session, competition_id=competition.id)
    sha256 = lookup.live(competition).solution.row_ids_sha256
    return site.checker.check(
        upload.stream,
        row_ids_sha256=sha256,
        open_row_ids=partial(site.storage.open, sha256),
        other_labels=names,
        who=g.user.id,
    )


def check_if_free(competition: Competition, upload: Upload) -> Checked | None:
    """Return what `check` does; None also where the person had enough checked for now."""
    with suppress(ShareUsed):
        return check(competition, upload)
    return None
