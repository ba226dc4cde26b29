"""File type detection by first bytes, and problems with files that cannot be opened."""

import re
from dataclasses import dataclass

from grader.files.reading.problems import FileProblem
from grader.text import megabytes

HEAD_BYTES = 4096
_WORKBOOK = "Open it and export it as CSV UTF-8."
_FROM_PANDAS = "Write it with to_csv(index=False)."
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body|table)\b", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml")
_JSON = re.compile(rb"\s*[\[{]")
_TAR_MAGIC = slice(257, 262)
_NESTABLE = frozenset({"bzip2 data", "xz data", "Zstandard data", "a 7-Zip archive", "a RAR archive"})


@dataclass(frozen=True, slots=True)
class Signature:
    """A file type other than CSV, with advice on how to convert the file."""

    kind: str
    advice: str = "Export the table as CSV."


EXCEL_OLD = Signature("an Excel workbook (.xls)", _WORKBOOK)
GZIP = Signature("gzip data")
ZIP = Signature("a ZIP archive")

_MAGIC: tuple[tuple[bytes, Signature], ...] = (
    (b"\x1f\x8b", GZIP),
    (b"PK\x03\x04", ZIP),
    (b"PK\x05\x06", ZIP),
    (b"PK\x07\x08", ZIP),
    (b"\xd0\xcf\x11\xe0", EXCEL_OLD),
    (
        b"\x00\x05\x16\x07",
        Signature("an AppleDouble file, which macOS adds", "Choose the file without '._' in its name."),
    ),
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
        Signature("a Git LFS pointer, not the data", "Run `git lfs pull` and upload the file itself."),
    ),
)


def identify(head: bytes) -> Signature | None:
    """Return the type of a file that starts with `head`, or None if it may be CSV.

    Parameters
    ----------
    head : bytes
        The first `HEAD_BYTES` bytes, or the whole file if it is shorter.
    """
    for magic, signature in _MAGIC:
        if head.startswith(magic):
            return signature
    if _PICKLE.match(head):
        return Signature("a Python pickle", _FROM_PANDAS)
    if head[_TAR_MAGIC] == b"ustar":
        return Signature("a tar archive", "Upload the CSV itself, or one CSV compressed with gzip or zip.")
    if match := _HTML.match(head):
        start = head[: match.end() + 1].strip().decode("ascii", "replace")
        return Signature(
            f"an HTML page (the file starts with {start})",
            "A login or error page was probably saved instead of the data.",
        )
    if _XML.match(head):
        return Signature("an XML document")
    if _JSON.match(head):
        return Signature("JSON")
    return None


def is_archive(signature: Signature) -> bool:
    """Return whether files of a type are containers that may contain a CSV."""
    return signature in (GZIP, ZIP) or signature.kind in _NESTABLE | {"a tar archive"}


def workbook(names: list[str]) -> Signature | None:
    """Return the type of a document, determined by the entries of its ZIP container; None for an archive."""
    if "[Content_Types].xml" in names:
        return Signature("an Excel workbook (ZIP with [Content_Types].xml)", _WORKBOOK)
    if "META-INF/manifest.xml" in names and "content.xml" in names:
        return Signature("an OpenDocument file (ZIP with META-INF/manifest.xml)", _WORKBOOK)
    if any(name == "data.pkl" or name.endswith("/data.pkl") for name in names):
        return Signature("a PyTorch checkpoint (ZIP with data.pkl)", _FROM_PANDAS)
    if names and all(name.endswith(".npy") for name in names):
        return Signature("a NumPy archive (.npz)", _FROM_PANDAS)
    return None


class NotReadable(Exception):
    """The container cannot be opened or read; `problem` states the reason."""

    def __init__(self, problem: FileProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def archive_problem(sentence: str) -> FileProblem:
    """Return the problem that the ZIP archive cannot be used."""
    return FileProblem(
        "bad_archive",
        f"This archive cannot be used: {sentence}.",
        expected="a ZIP archive with one CSV",
        found=sentence,
    )


def not_csv(signature: Signature, *, nested: bool) -> FileProblem:
    """Return the problem that the file is not CSV."""
    if nested and is_archive(signature):
        return FileProblem(
            "nested_archive",
            f"This is a nested archive: the compressed file contains {signature.kind}. Expected a single CSV "
            "file, compressed at most once.",
            expected="one CSV",
            found=signature.kind,
        )
    place = "The compressed file contains" if nested else "This is"
    message = f"{place} {signature.kind}; expected CSV. {signature.advice}"
    return FileProblem("not_csv", message, expected="CSV", found=signature.kind)


def too_large(size: int, cap: int) -> FileProblem:
    """Return the problem that the file, as received, is larger than the cap."""
    return FileProblem(
        "file_too_large",
        f"The file is {megabytes(size)}; the limit is {megabytes(cap)}.",
        expected=f"at most {megabytes(cap)}",
        found=megabytes(size),
    )


def bomb(cap: int) -> FileProblem:
    """Return the problem that the decompressed file is larger than the cap."""
    return FileProblem(
        "uncompressed_too_large",
        f"The uncompressed size exceeds the limit of {megabytes(cap)}; decompression stopped there.",
        expected=f"at most {megabytes(cap)}",
        found=f"more than {megabytes(cap)}",
    )


def damaged_gzip(position: int, reason: str) -> FileProblem:
    """Return the problem that the gzip data is damaged at a given byte."""
    detail = reason.split(": ")[-1]
    return FileProblem(
        "damaged_archive",
        f"The gzip data is damaged at byte {position:,} ({detail}). Compress and upload the file again.",
        expected="gzip data with a matching checksum",
        found=detail,
    )


def truncated_gzip(position: int) -> FileProblem:
    """Return the problem that the gzip data is truncated."""
    return FileProblem(
        "damaged_archive",
        f"The gzip data is truncated at byte {position:,}. Upload the file again.",
        expected="a complete gzip file",
        found="a truncated gzip file",
    )


def too_many_members(position: int, most: int, tiny_bytes: int) -> FileProblem:
    """Return the problem that the gzip file has too many tiny members."""
    return FileProblem(
        "too_many_members",
        f"The gzip data has more than {most:,} members (separately compressed pieces) of less than "
        f"{tiny_bytes:,} bytes each; reading stopped at byte {position:,}. Compress the file as a whole.",
        expected=f"at most {most:,} members of less than {tiny_bytes:,} bytes",
        found=f"more than {most:,}",
    )


def damaged_zip(reason: str) -> FileProblem:
    """Return the problem that the ZIP archive cannot be read."""
    if reason == "File is not a zip file":
        reason = "its directory is missing; the file may be truncated"
    return FileProblem(
        "damaged_archive",
        f"The ZIP archive is damaged ({reason}). Compress and upload the file again.",
        expected="a readable ZIP archive",
        found=reason,
    )
