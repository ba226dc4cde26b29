"""The one folder whose files the tools read and write: no path leads out of it."""

from pathlib import Path

from grader.client.errors import Unusable
from grader.client.files import PARTS


class Folder:
    """A folder given at the start."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve(strict=True)

    def existing(self, name: str) -> Path:
        """Return the path of a file in the folder; raise Unusable for any other."""
        path = self._inside(name)
        if not path.is_file():
            raise Unusable(f"There is no file {name!r} in the folder {self.path}.")
        return path

    def new(self, name: str) -> Path:
        """Return where a download goes; raise Unusable where that would be outside, or through a link."""
        path = self._inside(name)
        if path.parent != self.path or any(
            (self.path / f"{name}{part}").is_symlink() for part in ("", *PARTS)
        ):
            raise Unusable(f"{name!r} would not be a file of the folder {self.path} itself.")
        return path

    def _inside(self, name: str) -> Path:
        try:
            path = (self.path / name).resolve()
        except (OSError, ValueError) as error:
            raise Unusable(f"{name!r} is no name of a file.") from error
        if not path.is_relative_to(self.path) or path == self.path:
            raise Unusable(f"{name!r} is not in the folder {self.path}; files elsewhere are out of reach.")
        return path
