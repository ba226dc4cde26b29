"""Descriptions of result tables in the format Croissant 1.0 (JSON-LD), for tools such as mlcroissant."""

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

# The standard context, and the type and meaning of each column. All other columns are scores or terms.
_KNOWN = json.loads(files(__package__).joinpath("croissant.json").read_text("utf-8"))


def document(
    *,
    title: str,
    address: str,
    creators: Sequence[str],
    number: int,
    published: datetime,
    tables: Mapping[str, tuple[str, str]],
) -> str:
    """Describe the CSV tables of final standings by name: their address, which may be relative, and text."""
    day = f"{published.astimezone(UTC):%Y-%m-%d}"
    dataset = {
        "@context": _KNOWN["context"],
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": f"{title}: final results",
        "description": f"Final standings {number} of {title}.",
        "url": address,
        "version": f"{number}.0.0",
        "datePublished": day,
        "creator": [{"@type": "sc:Organization", "name": name} for name in creators],
        "citeAs": f"{', '.join(creators)}. {title}: final results, version {number}, {day}. {address}",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": f"{name}.csv",
                "name": f"{name}.csv",
                "contentUrl": url,
                "encodingFormat": "text/csv",
                "sha256": hashlib.sha256(text.encode()).hexdigest(),
            }
            for name, (url, text) in tables.items()
        ],
        "recordSet": [
            {"@type": "cr:RecordSet", "@id": name, "name": name, "field": list(_fields(name, text))}
            for name, (_, text) in tables.items()
        ],
    }
    return json.dumps(dataset, indent=2, ensure_ascii=False) + "\n"


def _fields(table: str, text: str) -> Iterator[dict[str, Any]]:
    for place, column in enumerate(next(csv.reader(text.splitlines()))):
        data_type, description = _KNOWN["columns"].get(column, ("sc:Float", column))
        yield {
            "@type": "cr:Field",
            "@id": f"{table}/{column if column.isidentifier() else place}",  # may not contain spaces
            "name": column,
            "description": description,
            "dataType": data_type,
            "source": {"fileObject": {"@id": f"{table}.csv"}, "extract": {"column": column}},
        }
