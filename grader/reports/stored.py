"""Store a finished report as bytes and read it again."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.reports.analysis import Analysis
from grader.reports.blocks import Cell, Chart, Section, Table


def to_bytes(analyses: Mapping[str, Analysis]) -> bytes:
    """Return several reports by their names as one compressed JSON object."""
    data = {name: asdict(analysis) for name, analysis in analyses.items()}
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)


def from_bytes(stored: bytes) -> dict[str, Analysis]:
    """Read what `to_bytes` returned."""
    data = json.loads(gzip.decompress(stored))
    return {name: _analysis(each) for name, each in data.items()}


def _analysis(data: Mapping[str, Any]) -> Analysis:
    return Analysis(data["title"], tuple(data["facts"]), tuple(map(_section, data["sections"])))


def _section(data: Mapping[str, Any]) -> Section:
    blocks = tuple(
        Chart(block["svg"], _table(block["table"]), block.get("is_summed_up", False))
        if "svg" in block
        else _table(block)
        for block in data["blocks"]
    )
    return Section(data["key"], data["title"], tuple(data["texts"]), blocks, data["data"])


def _table(data: Mapping[str, Any]) -> Table:
    lines = tuple(tuple(Cell(**cell) for cell in line) for line in data["lines"])
    groups = tuple((name, span) for name, span in data.get("groups", ()))
    return Table(data["caption"], tuple(data["head"]), lines, groups, tuple(data.get("notes", ())))
