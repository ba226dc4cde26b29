"""Cache of rescoring differences, for the pages that show them.

Of large competitions one takes seconds, and is asked for again and again: by the page, by each table. It is
kept as long as nothing that it depends on changes, which is looked up each time.
"""

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from grader.models import Competition
from grader.services.rescoring import difference
from grader.services.rescoring.difference import Compared, Preview

MOST_KEPT = 4  # of 10,000 teams each takes some 20 MB


class Differences:
    """The previews that were asked for last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[str, Preview]] = OrderedDict()

    def preview(self, session: Any, *, competition: Competition, versions: Compared) -> Preview:
        """Return the difference of two versions, computed now or kept; who asks meanwhile waits for it."""
        key = versions.before.id, versions.after.id
        with self._lock:
            state = difference.state(session, competition=competition, versions=versions)
            kept_state, found = self._kept.pop(key, ("", None))
            if found is None or kept_state != state:
                found = difference.preview(session, competition=competition, versions=versions)
            self._kept[key] = state, found
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return replace(found, versions=versions)
