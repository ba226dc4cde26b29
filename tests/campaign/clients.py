"""Simulated clients: uploads, retries with the same key, selections, leaderboard requests."""

import hashlib
import http.client
import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tests.campaign.findings import BoardLine, BoardRead
from tests.campaign.installation import SLUG, TeamAccess
from tests.campaign.ledger import Ledger
from tests.campaign.plan import Plan
from tests.fixtures.service import write_predictions

BOUNDARY = "campaign"
TIMEOUT_SECONDS = 20
SUBMISSIONS = f"/api/v1/competitions/{SLUG}/submissions"
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"
SELECTABLE = 2


@dataclass(frozen=True, slots=True)
class File:
    """The content of one upload and its idempotency key."""

    data: bytes
    key: str
    is_faulty: bool

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    @property
    def form(self) -> bytes:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{self.key}.csv"'
        return f"{head}\r\n\r\n".encode() + self.data + f"\r\n--{BOUNDARY}--\r\n".encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete response; status 0 means that there was no response."""

    status: int
    body: dict[str, Any]
    text: str = ""


NO_ANSWER = Answer(0, {})


class Teams:
    """Assigns each team to two clients at a time until the team's limit rejects a file."""

    def __init__(self, teams: list[TeamAccess]):
        self._left = list(teams)
        self._lock = threading.Lock()

    def take(self, number: int) -> TeamAccess:
        """Return the team of a client; neighboring clients share one."""
        with self._lock:
            return self._left[(number // 2) % len(self._left)]

    def exhaust(self, team: TeamAccess):
        """Record that a team has no submissions left."""
        with self._lock, suppress(ValueError):
            if len(self._left) > 1:
                self._left.remove(team)


class Client(threading.Thread):
    """A client that performs one action after another until it is stopped."""

    def __init__(
        self, number: int, *, plan: Plan, port: int, teams: Teams, ledger: Ledger, truce: threading.Event
    ):
        super().__init__(name=f"client-{number}", daemon=True)
        self._number = number
        self._plan = plan
        self._port = port
        self._teams = teams
        self._ledger = ledger
        self._truce = truce
        self._random = random.Random(f"{plan.seed} client {number}")
        self._files = 0

    def run(self):
        while not self._truce.is_set():
            team = self._teams.take(self._number)
            chance = self._random.random()
            if chance < 0.06:
                self._read_board()
            else:
                self._upload(team)

    def _file(self) -> File:
        self._files += 1
        seed = self._plan.seed * 10_000_000 + self._number * 1_000_000 + self._files
        data = write_predictions(self._plan.rows, seed=seed, skill=self._random.random())
        is_faulty = self._random.random() < 0.02
        if is_faulty:
            data = data.replace(b"\nr7,", b"\nr7,nan", 1)
        return File(data, f"{self._plan.seed}-{self._number}-{self._files}", is_faulty)

    def _upload(self, team: TeamAccess):
        file, sha256 = (made := self._file()), made.sha256
        self._ledger.send(sha256, is_faulty=file.is_faulty)
        chance = self._random.random()
        if chance < 0.02:
            self._break_off(team, file, share=self._random.random())
            return  # This upload is not retried.
        if chance < 0.06:
            self._break_off(team, file, share=self._random.choice((0.5, 1, 1)))
        answer = self._until_answered("POST", SUBMISSIONS, team, file)
        if answer.status in (200, 201):
            submission_id = answer.body["id"]
            self._ledger.acknowledge(submission_id, sha256)
            self._afterwards(team, file, submission_id)
        elif answer.status:
            self._ledger.refuse(sha256)
            if answer.status == 429:
                self._teams.exhaust(team)
            else:
                self._ledger.surprise(f"An upload returned {answer.status}: {answer.text[:200]}")

    def _afterwards(self, team: TeamAccess, file: File, submission_id: int):
        chance = self._random.random()
        if chance < 0.04:
            again = self._until_answered("POST", SUBMISSIONS, team, file)
            if again.status and (again.status != 200 or again.body["id"] != submission_id):
                self._ledger.surprise(f"A repeated key returned {again.status}: {again.text[:200]}")
        elif chance < 0.06:
            other = File(self._file().data, file.key, is_faulty=False)
            self._ledger.send(other.sha256, is_faulty=False)
            refused = self._until_answered("POST", SUBMISSIONS, team, other)
            if refused.status == 422:
                self._ledger.refuse(other.sha256)
            elif refused.status:
                self._ledger.surprise(f"A key reused for another file returned {refused.status}.")
        elif chance < 0.1:
            self._until_answered("GET", f"/api/v1/submissions/{submission_id}", team)
        elif chance < 0.13 and not file.is_faulty:
            self._select(team, submission_id)

    def _select(self, team: TeamAccess, submission_id: int):
        """Select a submission if a slot is free; a confirmed selection must persist."""
        with self._ledger.lock:
            if len(self._ledger.picks[team.name]) >= SELECTABLE:
                return
            self._ledger.picks[team.name].add(submission_id)
        path = f"/api/v1/submissions/{submission_id}/select"
        answer = self._until_answered("POST", path, team)
        if answer.status != 200:
            with self._ledger.lock:
                self._ledger.picks[team.name].discard(submission_id)
                self._ledger.unsure.add(team.name)
            if answer.status:
                self._ledger.surprise(f"A selection returned {answer.status}: {answer.text[:200]}")

    def _read_board(self):
        page = self._random.choice((1, 1, 2))
        self.read_board(page)

    def read_board(self, page: int) -> bool:
        """Read one page of the public leaderboard; return whether there is another."""
        answer = self._ask("GET", f"{BOARD}?page={page}", None)
        if answer.status != 200:
            return False
        lines = tuple(
            BoardLine(row["rank"], row["team"], f"{row['score']:.5f}") for row in answer.body["rows"]
        )
        with self._ledger.lock:
            self._ledger.board_reads.append(BoardRead(SLUG, answer.body["scoring_version"], lines))
        return bool(answer.body["next"])

    def _until_answered(self, method: str, path: str, team: TeamAccess, file: File | None = None) -> Answer:
        """Retry until a final response arrives; return status 0 if the campaign ends first.

        A team with too many pending files sends no more, so uploads are never far ahead of scoring.
        """
        for pause in self._pauses():
            answer = self._ask(method, path, team, file)
            if 0 < answer.status < 500 and answer.body.get("error") != "too_many_pending":
                return answer
            time.sleep(pause)
        return NO_ANSWER

    def _pauses(self) -> Iterator[float]:
        """Yield the pauses between attempts. After the end of the campaign, yield only a limited number."""
        pause, tries_after_the_end = 0.05, 0
        while tries_after_the_end < 40:
            tries_after_the_end += self._truce.is_set()
            yield pause * (0.5 + self._random.random())
            pause = min(1.0, pause * 2)

    def _ask(self, method: str, path: str, team: TeamAccess | None, file: File | None = None) -> Answer:
        headers = {} if team is None else {"Authorization": f"Bearer {team.token}"}
        if file is not None:
            content_type = f"multipart/form-data; boundary={BOUNDARY}"
            headers |= {"Content-Type": content_type, "Idempotency-Key": file.key}
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, None if file is None else file.form, headers)
            response = connection.getresponse()
            text = response.read().decode()
            body = json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._ledger.count(self._ledger.answers, f"none ({type(error).__name__})")
            return NO_ANSWER
        finally:
            connection.close()
        self._ledger.count(self._ledger.answers, str(response.status))
        if response.status == 500:
            self._ledger.surprise(f"{method} {path} returned 500: {text[:300]}")
        with self._ledger.lock:
            self._ledger.texts.append(text)
        return Answer(response.status, body, text)

    def _break_off(self, team: TeamAccess, file: File, *, share: float):
        """Send part or all of a request and disconnect without reading the response."""
        form = file.form
        head = (
            f"POST {SUBMISSIONS} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {team.token}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\nIdempotency-Key: {file.key}\r\n"
            f"Content-Length: {len(form)}\r\n\r\n"
        )
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
            connection.sendall(head.encode() + form[: int(share * len(form))])
        self._ledger.count(self._ledger.answers, "none (hung up)")
