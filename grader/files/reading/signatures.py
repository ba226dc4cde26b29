"""Detect a file's type by its first bytes: Excel, PDF, Parquet, image."""

import re
from dataclasses import dataclass

HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of file that is no CSV, and what its owner should do."""

    kind: str
    advice: str = "Export the table as CSV."


_WORKBOOK = "Open it and export it as CSV UTF-8."
_FROM_PANDAS = "Write it with to_csv(index=False)."

EXCEL_OLD = Signature("an Excel workbook (.xls)", _WORKBOOK)
GZIP = Signature("gzip data")
ZIP = Signature("a ZIP archive")

_MAGIC: tuple[tuple[bytes, Signature], ...] = (
    (b"\x1f\x8b", GZIP),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"PK\x07\x08", ZIP),
    (b"\xd0\xcf\x11\xe0", EXCEL_OLD),
    (b"PAR1", Signature("Parquet", _FROM_PANDAS)),
    (b"ARROW1", Signature("an Arrow (Feather) file", _FROM_PANDAS)),
    (b"FEA1", Signature("a Feather file", _FROM_PANDAS)),
    (b"Obj\x01", Signature("an Avro file", _FROM_PANDAS)),
    (b"\x93NUMPY", Signature("a NumPy array (.npy)", _FROM_PANDAS)),
    (b"\x89HDF\r\n\x1a\n", Signature("an HDF5 file", _FROM_PANDAS)),
    (b"SQLite format 3\0", Signature("an SQLite database")),
    (b"%PDF", Signature("a PDF document")),
    (b"\x89PNG\r\n\x1a\n", Signature("a PNG image")),
    (b"\xff\xd8\xff", Signature("a JPEG image")),
    (b"GIF87a", Signature("a GIF image")),
    (b"GIF89a", Signature("a GIF image")),
    (b"{\\rtf", Signature("an RTF document", _WORKBOOK)),
    (b"BZh", Signature("bzip2 data", "Use gzip, zip or no compression.")),
    (b"\xfd7zXZ\0", Signature("xz data", "Use gzip, zip or no compression.")),
    (b"\x28\xb5\x2f\xfd", Signature("Zstandard data", "Use gzip, zip or no compression.")),
    (b"7z\xbc\xaf\x27\x1c", Signature("a 7-Zip archive", "Use gzip, zip or no compression.")),
    (b"Rar!\x1a\x07", Signature("a RAR archive", "Use gzip, zip or no compression.")),
    (b"\x7fELF", Signature("a program (ELF)")),
    (
        b"version https://git-lfs.github.com/spec/",
        Signature("a Git LFS pointer, not the data", "Run `git lfs pull` and send the file itself."),
    ),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|table)\b", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml")
_JSON = re.compile(rb"\s*[\[{]")
_TAR_MAGIC = slice(257, 262)
_NESTABLE = frozenset({"bzip2 data", "xz data", "Zstandard data", "a 7-Zip archive", "a RAR archive"})


def identify(head: bytes) -> Signature | None:
    """Name the kind of file that begins with `head`; None where it may be CSV.

    Parameters
    ----------
    head : bytes
        The first `HEAD_BYTES` bytes, or all of a shorter file.

    Returns
    -------
    Signature or None
    """
    for magic, signature in _MAGIC:
        if head.startswith(magic):
            return signature
    if _PICKLE.match(head):
        return Signature("a Python pickle", _FROM_PANDAS)
    if head[_TAR_MAGIC] == b"ustar":
        return Signature("a tar archive", "Send the CSV itself, or one CSV as gzip or zip.")
    if found := _HTML.match(head):
        start = head[: found.end() + 1].strip().decode("ascii", "replace")
        return Signature(
            f"an HTML page (the file starts with {start})",
            "A log-in or error page was probably saved in place of the data.",
        )
    if _XML.match(head):
        return Signature("an XML document")
    if _JSON.match(head):
        return Signature("JSON")
    return None


def is_archive(signature: Signature) -> bool:
    """Return whether the kind is a container that may hold a CSV."""
    return signature in (GZIP, ZIP) or signature.kind in _NESTABLE | {"a tar archive"}


def workbook(names: list[str]) -> Signature | None:
    """Name the kind of document whose ZIP container holds these entries; None for an archive."""
    if "[Content_Types].xml" in names:
        return Signature("an Excel workbook (ZIP with [Content_Types].xml)", _WORKBOOK)
    if "META-INF/manifest.xml" in names and "content.xml" in names:
        return Signature("an OpenDocument file (ZIP with META-INF/manifest.xml)", _WORKBOOK)
    if any(name == "data.pkl" or name.endswith("/data.pkl") for name in names):
        return Signature("a PyTorch checkpoint (ZIP with data.pkl)", _FROM_PANDAS)
    if names and all(name.endswith(".npy") for name in names):
        return Signature("a NumPy archive (.npz)", _FROM_PANDAS)
    return None
