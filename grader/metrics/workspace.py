"""Reused memory buffers for counting, for speed.

Fresh memory has to be mapped page by page; at a hundred thousand rows that takes longer than the
sort itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class Workspace:
    """The arrays one counting writes to; what they hold between two countings has no meaning.

    Attributes
    ----------
    keys, differences : ndarray of int64, shape (rows,)
        Sort keys, and their differences to the next one.
    is_positive, by_row : ndarray of uint32, shape (rows,)
        They share the memory of `differences`, which is read before they are written.
    among_positives, midranks : ndarray of uint32, shape (rows,)
        Doubled midranks by position in the order.
    flags : ndarray of bool, shape (rows,)
        Answers to a question about each row.
    mention_midranks, mention_ranks : ndarray of uint32, shape (mentions,)
        Doubled midranks of each mention, among all and among the positive rows.
    mention_places : ndarray of int64, shape (mentions,)
        Positions in the order.
    mention_keys, mention_differences : ndarray of uint32 or uint64, shape (mentions,)
        Sort keys, and their differences to the next one.
    mention_flags : ndarray of bool, shape (mentions,)
        Answers to a question about each mention.
    """

    def __init__(self, rows: int, mentions: int, mention_key: np.dtype[np.unsignedinteger]) -> None:
        self.keys = np.empty(rows, np.int64)
        self.differences = np.empty(rows, np.int64)
        self.is_positive, self.by_row = self.differences.view(np.uint32).reshape(2, rows)
        self.among_positives = np.empty(rows, np.uint32)
        self.midranks = np.empty(rows, np.uint32)
        self.flags = np.empty(rows, np.bool_)
        self.mention_midranks = np.empty(mentions, np.uint32)
        self.mention_ranks = np.empty(mentions, np.uint32)
        self.mention_places = np.empty(mentions, np.int64)
        self.mention_keys = np.empty(mentions, mention_key)
        self.mention_differences = np.empty(mentions, mention_key)
        self.mention_flags = np.empty(mentions, np.bool_)


class WorkspacePool:
    """Lends each count a separate workspace, so that threads can share a prepared split."""

    def __init__(self, rows: int, mentions: int, mention_key: np.dtype[np.unsignedinteger]) -> None:
        self._shape = (rows, mentions, mention_key)
        self._idle: list[Workspace] = []

    @contextmanager
    def lend(self) -> Iterator[Workspace]:
        """Lend an idle workspace, or a new one where all are in use."""
        try:
            workspace = self._idle.pop()
        except IndexError:
            workspace = Workspace(*self._shape)
        try:
            yield workspace
        finally:
            self._idle.append(workspace)
