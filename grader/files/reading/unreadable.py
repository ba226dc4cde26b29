"""Problems of a file that cannot be opened: too large, damaged gzip or ZIP, not a CSV."""

from grader.files.reading import signatures
from grader.files.reading.problems import Problem
from grader.text.wording import megabytes


class Unreadable(Exception):
    """The container cannot be opened or read on; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def archive_problem(sentence: str) -> Problem:
    """Say why a ZIP archive cannot be used."""
    return Problem(
        "bad_archive",
        f"This archive cannot be used: {sentence}.",
        expected="a ZIP archive of one CSV",
        found=sentence,
    )


def not_csv(found: signatures.Signature, *, nested: bool) -> Problem:
    """Say what the file is instead of CSV."""
    if nested and signatures.is_archive(found):
        return Problem(
            "nested_archive",
            f"This is a nested archive: inside the compressed file lies {found.kind}. "
            "Expected one CSV, compressed once or not at all.",
            expected="one CSV",
            found=found.kind,
        )
    place = "Inside the compressed file lies" if nested else "This is"
    message = f"{place} {found.kind}; expected CSV. {found.advice}"
    return Problem("not_csv", message, expected="CSV", found=found.kind)


def too_large(size: int, cap: int) -> Problem:
    """Say that the file is larger than the cap as it arrived."""
    return Problem(
        "file_too_large",
        f"The file is {megabytes(size)}; the limit is {megabytes(cap)}.",
        expected=f"at most {megabytes(cap)}",
        found=megabytes(size),
    )


def bomb(cap: int) -> Problem:
    """Say that the file is larger than the cap uncompressed."""
    return Problem(
        "uncompressed_too_large",
        f"The uncompressed size exceeds {megabytes(cap)} (uncompressing stopped at {megabytes(cap)} + 1).",
        expected=f"at most {megabytes(cap)}",
        found=f"more than {megabytes(cap)}",
    )


def damaged_gzip(position: int, reason: str) -> Problem:
    """Say at which byte gzip data stop making sense."""
    detail = reason.split(": ")[-1]
    return Problem(
        "damaged_archive",
        f"The gzip data is damaged at byte {position:,} ({detail}). Compress and send it again.",
        expected="gzip data whose checksum fits",
        found=detail,
    )


def truncated_gzip(position: int) -> Problem:
    """Say where gzip data end before their end."""
    return Problem(
        "damaged_archive",
        f"The gzip data is damaged at byte {position:,}: it ends too early. Send the file again.",
        expected="a complete gzip file",
        found="a truncated one",
    )


def too_many_members(position: int, most: int, tiny_bytes: int) -> Problem:
    """Say that a gzip file is made of far too many pieces that hold next to nothing."""
    return Problem(
        "too_many_members",
        f"The gzip data has more than {most:,} members (pieces compressed one by one) of less than "
        f"{tiny_bytes:,} bytes each; reading stopped at byte {position:,}. Compress the file as a whole.",
        expected=f"at most {most:,} members of less than {tiny_bytes:,} bytes",
        found=f"more than {most:,}",
    )


def damaged_zip(reason: str) -> Problem:
    """Say why a ZIP archive cannot be read."""
    if reason == "File is not a zip file":
        reason = "its directory is missing: does the file end too early?"
    return Problem(
        "damaged_archive",
        f"The ZIP archive is damaged ({reason}). Compress and send it again.",
        expected="a readable ZIP archive",
        found=reason,
    )
