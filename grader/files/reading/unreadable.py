"""File type detection by first bytes, and the error for files that cannot be opened."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.files.reading.problems import FileProblem

HEAD_BYTES = 4096
_EXPORT = "Open it and export it as CSV UTF-8."
_FROM_PANDAS = "Write it with to_csv(index=False)."
_OTHER_ARCHIVE = "Use gzip, zip or no compression."


@dataclass(frozen=True, slots=True)
class Signature:
    """A file type other than CSV, with advice on how to convert the file."""

    kind: str
    advice: str = "Export the table as CSV."

    @property
    def is_archive(self) -> bool:
        """Whether files of this type are containers that may contain a CSV."""
        return self in (GZIP, ZIP) or self.advice == _OTHER_ARCHIVE


GZIP = Signature("gzip data")
ZIP = Signature("a ZIP archive")
_LOGIN_PAGE = "A login or error page was probably saved instead of the data."
_LFS = "Run `git lfs pull` and upload the file itself."
_APPLE = "Choose the file without '._' in its name."
_SIGNATURES = (
    (rb"\x1f\x8b", GZIP),
    (rb"PK(?:\x03\x04|\x05\x06|\x07\x08)", ZIP),
    (rb"\xd0\xcf\x11\xe0", Signature("an Excel workbook (.xls)", _EXPORT)),
    (rb"\x00\x05\x16\x07", Signature("an AppleDouble file, which macOS adds", _APPLE)),
    (rb"PAR1", Signature("Parquet", _FROM_PANDAS)),
    (rb"ARROW1|FEA1", Signature("a Feather file", _FROM_PANDAS)),
    (rb"\x93NUMPY", Signature("a NumPy array (.npy)", _FROM_PANDAS)),
    (rb"\x80[\x02-\x05]", Signature("a Python pickle", _FROM_PANDAS)),
    (rb"\x89HDF\r\n", Signature("an HDF5 file", _FROM_PANDAS)),
    (rb"SQLite format 3\0", Signature("an SQLite database")),
    (rb"%PDF", Signature("a PDF document")),
    (rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a", Signature("an image")),
    (rb"\{\\rtf", Signature("an RTF document", _EXPORT)),
    (
        rb"BZh|\xfd7zXZ\0|\x28\xb5\x2f\xfd|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|(?s:.{257})ustar",
        Signature("an archive other than gzip and ZIP", _OTHER_ARCHIVE),
    ),
    (rb"version https://git-lfs", Signature("a Git LFS pointer, not the data", _LFS)),
    (rb"(?i:\s*<(?:!doctype\s+html|html|head|body|table)\b)", Signature("an HTML page", _LOGIN_PAGE)),
    (rb"\s*<\?xml", Signature("an XML document")),
    (rb"\s*[\[{]", Signature("JSON")),
)
_PATTERNS = tuple((re.compile(pattern), signature) for pattern, signature in _SIGNATURES)


def identify(head: bytes) -> Signature | None:
    """Return the type of a file from its first `HEAD_BYTES` bytes, or None if it may be CSV."""
    return next((signature for pattern, signature in _PATTERNS if pattern.match(head)), None)


def document_of(names: Sequence[str]) -> Signature | None:
    """Return the type of a document, determined by the entries of its ZIP container; None for an archive."""
    if "[Content_Types].xml" in names:
        return Signature("an Excel workbook (ZIP with [Content_Types].xml)", _EXPORT)
    if "META-INF/manifest.xml" in names and "content.xml" in names:
        return Signature("an OpenDocument file (ZIP with META-INF/manifest.xml)", _EXPORT)
    if any(name == "data.pkl" or name.endswith("/data.pkl") for name in names):
        return Signature("a PyTorch checkpoint (ZIP with data.pkl)", _FROM_PANDAS)
    if names and all(name.endswith(".npy") for name in names):
        return Signature("a NumPy archive (.npz)", _FROM_PANDAS)
    return None


class NotReadable(Exception):
    """The container cannot be opened or read; `problem` states the reason."""

    def __init__(self, code: str, message: str, expected: str, found: str) -> None:
        super().__init__(message)
        self.problem = FileProblem(code, message, expected=expected, found=found)


def bad_archive(sentence: str) -> NotReadable:
    """Return the error that the ZIP archive cannot be used."""
    message = f"This archive cannot be used: {sentence}."
    return NotReadable("bad_archive", message, "a ZIP archive with one CSV", sentence)


def not_csv(signature: Signature, *, nested: bool) -> NotReadable:
    """Return the error that the file, or the compressed file, is not CSV."""
    if nested and signature.is_archive:
        message = (
            f"This is a nested archive: the compressed file contains {signature.kind}. Expected a single CSV "
            "file, compressed at most once."
        )
        return NotReadable("nested_archive", message, "one CSV", signature.kind)
    place = "The compressed file contains" if nested else "This is"
    message = f"{place} {signature.kind}; expected CSV. {signature.advice}"
    return NotReadable("not_csv", message, "CSV", signature.kind)
