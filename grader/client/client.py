"""Client for participants."""

import uuid
from collections.abc import Mapping
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.client.errors import NotScoredInTime, Unusable
from grader.client.files import OnProgress, as_file, download
from grader.client.organizer import Organizer, quoted
from grader.client.records import ApiRecord, Leaderboard, Submission, Submissions
from grader.client.transport import KEY_HEADER, OnQuestion, Transport, polls, read_json

if TYPE_CHECKING:
    import pandas as pd


class Client(Transport):
    """A client for a Fairboard server, with the permissions of a token.

    Parameters
    ----------
    server : str
        The address of the site, such as ``https://fairboard.example.org``.
    token : str, optional
        An API token, from the account page. Without a token, only leaderboards are readable.
    competition : str, optional
        The last part of a competition's address. Methods that are called without a competition use this one.
        The default is the competition of the token, or the only one on the site.
    patience_seconds : float
        How long to wait in total between retries of one request if the server does not respond, is busy or
        sends ``Retry-After``.
    http : httpx.BaseTransport, optional
        The transport for requests; by default, the network.

    Notes
    -----
    Every method raises `Refused` (with the server's ``name`` and ``message``) or `Unreachable`. GET requests
    and uploads of submissions are retried; an upload has an ``Idempotency-Key``, so it is accepted only once.

    Examples
    --------
    >>> with Client("http://127.0.0.1:7777", "fb_…", competition="demo") as client:  # doctest: +SKIP
    ...     sent = client.submit("predictions.csv", description="word n-grams")
    ...     print(client.wait(sent).public_score)
    0.91234
    """

    def __init__(
        self, server: str, token: str | None = None, *, competition: str | None = None, **options: Any
    ) -> None:
        super().__init__(server, token, **options)
        self._competition = competition

    def organize(self, competition: str | None = None, *, confirm: bool | OnQuestion = False) -> Organizer:
        """Return the client for organizers of a competition; requires the scope ``organize``.

        With ``confirm=True``, it confirms every action. A function receives each question (``heading``,
        ``sentences``) and returns whether to continue. Otherwise, such actions raise `Refused`.
        """
        return Organizer(self, self._slug(competition), confirm=confirm)

    def competitions(self) -> list[ApiRecord]:
        """Return all competitions, newest first."""
        pages = self.pages_of("competitions")
        return [ApiRecord(each) for page in pages for each in page["competitions"]]

    def competition(self, competition: str | None = None) -> ApiRecord:
        """Return one competition with its rules, limits and metric."""
        return ApiRecord(self.get(self._place(competition)))

    def pages(self, competition: str | None = None) -> Mapping[str, Any]:
        """Return the Markdown of the overview, evaluation, data, rules and announcements."""
        return self.get(f"{self._place(competition)}/pages")

    def join(
        self,
        competition: str | None = None,
        *,
        accepted_rules_version: int | None = None,
        code: str | None = None,
    ) -> Mapping[str, Any]:
        """Join a competition, or accept its changed rules; ``entry`` is ``joined`` or ``waiting``.

        `accepted_rules_version` is the ``rules_version`` that you have read. `code` is the competition's
        entry code, if it requires one.
        """
        sent = {"accepted_rules_version": accepted_rules_version, "code": code}
        return self.call("POST", f"{self._place(competition)}/join", sent)

    def team(self, competition: str | None = None) -> ApiRecord:
        """Return your entry, team, limits and selection."""
        return ApiRecord(self.get(f"{self._place(competition)}/team"))

    def data_files(self, competition: str | None = None) -> list[ApiRecord]:
        """Return the files that can be downloaded."""
        pages = self.pages_of(f"{self._place(competition)}/data")
        return [ApiRecord(each) for page in pages for each in page["files"]]

    def download(
        self,
        name: str,
        folder: Path | str | None = None,
        *,
        competition: str | None = None,
        replace: bool = False,
        on_progress: OnProgress | None = None,
    ) -> Path:
        """Download a data file; resume an interrupted download, and skip a file that is up to date.

        The file is written to `folder`, by default to a folder in the working directory that is named after
        the competition. A local file that differs from the server's is replaced only if `replace` is true;
        otherwise, `Unusable` is raised. `on_progress` receives the bytes present and the size.
        """
        slug = self._slug(competition)
        path = Path(_file_name(slug) if folder is None else folder) / _file_name(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unusable(f"The folder {path.parent} cannot be created: {error.strerror}.") from error
        address = f"{self._place(slug)}/data/{quoted(name)}"
        return download(self, address, path, replace=replace, on_progress=on_progress)

    def check(self, submission: "pd.DataFrame | Path | str", *, competition: str | None = None) -> ApiRecord:
        """Return all problems of a file, without using a submission."""
        with as_file(submission) as path:
            address = f"{self._place(competition)}/check"
            return ApiRecord(self.call("POST", address, {"file": path}))

    def submit(
        self,
        submission: "pd.DataFrame | Path | str",
        *,
        competition: str | None = None,
        description: str = "",
        again: bool = False,
        key: str | None = None,
    ) -> Submission:
        """Upload a submission; `wait` returns its score.

        Parameters
        ----------
        submission : DataFrame, Path or str
            A table with the columns of a submission, or a CSV file, optionally compressed with gzip or ZIP.
        again : bool
            Submit the file even if the team has submitted the same bytes before.
        key : str, optional
            An ``Idempotency-Key``; two calls with the same key and bytes create only one submission. By
            default, each call uses its own key for all its retries.
        """
        address = f"{self._place(competition)}/submissions"
        headers = {KEY_HEADER: key or str(uuid.uuid4())}
        with as_file(submission) as path:
            sent = {"description": description, "again": again, "file": path}
            return Submission(self.call("POST", address, sent, headers=headers))

    def wait(self, submission: ApiRecord | int, *, timeout_seconds: float = 600) -> Submission:
        """Wait until a submission is final and return it; raise `NotScoredInTime` after the timeout."""
        address, headers = f"submissions/{_number(submission)}", dict[str, str]()
        latest: Submission | None = None
        for _ in polls(timeout_seconds):
            answer = self.ask("GET", address, headers=headers)
            if answer.status_code != 304 or latest is None:
                latest = Submission(read_json(answer))
                headers = {"If-None-Match": answer.headers["ETag"]} if "ETag" in answer.headers else {}
            if latest.is_final:
                return latest
        raise NotScoredInTime(submission=latest)

    def submission(self, submission: ApiRecord | int) -> Submission:
        """Return a submission of your team."""
        return Submission(self.get(f"submissions/{_number(submission)}"))

    def submissions(self, competition: str | None = None) -> Submissions:
        """Return all submissions of your team, newest first."""
        pages = list(self.pages_of(f"{self._place(competition)}/submissions"))
        return Submissions(pages[0] | {"submissions": [row for page in pages for row in page["submissions"]]})

    def submission_file(
        self, submission: ApiRecord | int, path: Path | str, *, on_progress: OnProgress | None = None
    ) -> Path:
        """Download the original file of a submission to `path`, byte for byte."""
        address = f"submissions/{_number(submission)}/file"
        return download(self, address, Path(path), on_progress=on_progress)

    def compare(
        self,
        submission: ApiRecord | int,
        baseline: ApiRecord | int,
        *,
        competition: str | None = None,
        timeout_seconds: float = 600,
    ) -> ApiRecord:
        """Return the comparison of two scored submissions of your team, with its standard errors by split.

        Waits until it is computed; after the timeout, `is_final` is False.
        """
        address = f"{self._place(competition)}/comparisons"
        sent = {"submission": _number(submission), "baseline": _number(baseline)}
        comparison = ApiRecord(self.call("POST", address, sent))
        for _ in polls(timeout_seconds):
            comparison = ApiRecord(self.get(f"{address}/{comparison.id}"))
            if comparison.is_final:
                break
        return comparison

    def select(self, submission: ApiRecord | int, *, selected: bool = True) -> Mapping[str, Any]:
        """Select a submission for the private leaderboard, or deselect it; return the selection."""
        return self.call("POST", f"submissions/{_number(submission)}/select", {"selected": selected})

    def leaderboard(
        self,
        competition: str | None = None,
        *,
        split: str = "public",
        search: str | None = None,
        division: str | None = None,
        most: int | None = None,
    ) -> Leaderboard:
        """Return up to `most` rows of the ``public`` or ``private`` leaderboard, filtered by `search`.

        With a `division`, the rows and ranks are those inside the division.
        """
        asked = {"split": split, "q": search, "division": division}
        pages = self.pages_of(f"{self._place(competition)}/leaderboard", **asked)
        first = next(pages)
        rows = chain(first["rows"], chain.from_iterable(page["rows"] for page in pages))
        return Leaderboard(first | {"rows": list(islice(rows, most))})

    def own_row(
        self, competition: str | None = None, *, team: str, split: str = "public"
    ) -> ApiRecord | None:
        """Return the row of your team on a leaderboard, or None if it has none."""
        page = Leaderboard(self.get(f"{self._place(competition)}/leaderboard", split=split))
        named = (row for row in page.rows if row.team == team and not row.is_benchmark)
        return page.own or next(named, None)

    def _place(self, competition: str | None) -> str:
        """Return the path of a competition relative to the API's root."""
        return f"competitions/{quoted(self._slug(competition))}"

    def _slug(self, competition: str | None) -> str:
        slug = competition or self._competition
        if not slug:
            bound = self.get("me")["token"]["competition"]
            slugs = [bound] if bound else [each.slug for each in self.competitions()]
            if len(slugs) != 1:
                raise Unusable(f"Specify the competition: {', '.join(slugs) or 'the site has none yet'}.")
            self._competition = slug = slugs[0]
        return slug


def _number(submission: ApiRecord | int) -> int:
    return submission if isinstance(submission, int) else int(submission["id"])


def _file_name(name: str) -> str:
    if Path(name).name != name or not name or name.startswith(".") or not name.isprintable():
        raise Unusable(f"{name!r} is not accepted as a file name.")
    return name
