"""Simulated clients, which upload, retry with the same key and read leaderboards, and an organizer."""

import hashlib
import itertools
import random
import socket
import threading
import time
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from grader.errors import FairboardError
from grader.files import read_solution
from grader.services.competitions import acting, lookup
from grader.services.rescoring import preparation, publication
from grader.services.rescoring.publication import RescoringIncomplete
from tests.campaign.installation import ORGANIZER, SLUG
from tests.campaign.scene import Scene
from tests.fixtures import stored_solutions
from tests.fixtures.service import write_predictions, write_solution
from tests.fixtures.web import BOUNDARY, Answer, Caller, form
from tests.invariants.findings import BoardLine, BoardRead

TIMEOUT_SECONDS = 20
TRIES_AFTER_THE_END = 40
SUBMISSIONS = f"/api/v1/competitions/{SLUG}/submissions"
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"


class Client(threading.Thread):
    """A client that uploads one file after another; neighboring clients share a team."""

    def __init__(self, scene: Scene, number: int, tokens: list[str]):
        super().__init__(name=f"client-{number}", daemon=True)
        installation, self._ledger, self._truce = scene
        self._plan, self._port = installation.plan, installation.settings.port
        self._number = number
        self._tokens = tokens
        self._random = random.Random(f"{self._plan.seed} client {number}")

    def run(self):
        number = 0
        while not self._truce.is_set():
            number += 1
            if self._random.random() < 0.06:
                self._read_board()
            else:
                self._upload(number)

    def _upload(self, number: int):
        seed = self._plan.seed * 10_000_000 + self._number * 1_000_000 + number
        data = write_predictions(self._plan.rows, seed=seed, skill=self._random.random())
        is_faulty = self._random.random() < 0.02
        if is_faulty:
            data = data.replace(b"\nr7,", b"\nr7,nan", 1)
        sha256 = hashlib.sha256(data).hexdigest()
        self._ledger.send(sha256, is_faulty=is_faulty)
        left = tuple(self._tokens)
        token = left[self._number // 2 % len(left)]
        key = f"{self._plan.seed}-{self._number}-{number}"
        chance = self._random.random()
        if chance < 0.06:
            self._break_off(token, data, key, share=self._random.choice((0.5, 1, 1)))
        if chance < 0.02:
            return  # This upload is not retried.
        answer = self._until_answered(token, data, key)
        if answer is None:
            return
        if answer.status in (200, 201):
            self._ledger.acknowledge(answer.data["id"], sha256)
            if self._random.random() < 0.04:
                again = self._until_answered(token, data, key)
                if again and (again.status, again.data.get("id")) != (200, answer.data["id"]):
                    self._ledger.surprises.append(f"A repeated key returned {again.status}: {again.data}")
        else:
            self._ledger.refused.add(sha256)
            if answer.status != 429:
                self._ledger.surprises.append(f"An upload returned {answer.status}: {answer.data}")
            elif len(self._tokens) > 1:
                with suppress(ValueError):
                    self._tokens.remove(token)  # This team has no submissions left.

    def _read_board(self):
        answer = self._ask("GET", f"{BOARD}?page={self._random.choice((1, 1, 2))}")
        if answer and answer.status == 200:
            lines = tuple(
                BoardLine(row["rank"], row["team"], f"{row['score']:.5f}") for row in answer.data["rows"]
            )
            self._ledger.board_reads.append(BoardRead(SLUG, answer.data["scoring_version"], lines))

    def _until_answered(self, token: str, data: bytes, key: str) -> Answer | None:
        """Retry until a final response arrives; return None if there is none long after the end.

        A team with too many pending files sends no more, so uploads are never far ahead of scoring.
        """
        pause, tries_after_the_end = 0.05, 0
        while tries_after_the_end < TRIES_AFTER_THE_END:
            answer = self._ask("POST", SUBMISSIONS, form(data), token, Idempotency_Key=key)
            if answer and answer.status < 500 and answer.data.get("error") != "too_many_pending":
                return answer
            tries_after_the_end += self._truce.is_set()
            time.sleep(pause * (0.5 + self._random.random()))
            pause = min(1.0, pause * 2)
        return None

    def _ask(
        self, method: str, path: str, body: bytes | None = None, token: str = "", **headers: str
    ) -> Answer | None:
        """Send a request; return None if there is no complete response."""
        caller = Caller(("127.0.0.1", self._port), token, timeout_seconds=TIMEOUT_SECONDS)
        try:
            answer = caller.request(method, path, body, **headers)
        except (ConnectionError, ValueError) as error:
            self._ledger.count(self._ledger.answers, f"none ({type(error.__cause__ or error).__name__})")
            return None
        self._ledger.count(self._ledger.answers, str(answer.status))
        text = str(answer.data)
        if answer.status == 500:
            self._ledger.surprises.append(f"{method} {path} returned 500: {text[:300]}")
        self._ledger.texts.append(text)
        return answer if isinstance(answer.data, dict) else None

    def _break_off(self, token: str, data: bytes, key: str, *, share: float):
        """Send part or all of an upload and disconnect without reading the response."""
        body = form(data)
        head = (
            f"POST {SUBMISSIONS} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
            f"Authorization: Bearer {token}\r\nIdempotency-Key: {key}\r\n"
            f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
        )
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
            connection.sendall(head.encode() + body[: int(share * len(body))])
        self._ledger.count(self._ledger.answers, "none (hung up)")


class Organizer(threading.Thread):
    """An organizer that corrects labels and publishes the new scores, again and again."""

    def __init__(self, scene: Scene):
        super().__init__(name="organizer", daemon=True)
        self._installation, self._ledger, self._truce = scene
        plan = self._installation.plan
        self._rows = plan.rows
        self._pause = max(1.5, plan.seconds / 12)
        self._seeds = itertools.count(plan.seed * 1000)
        self._hints = self._installation.hints()

    def run(self):
        while not self._truce.wait(self._pause):
            try:
                deed = self._act()
            except (RescoringIncomplete, SQLAlchemyError, OSError):
                continue
            except FairboardError as error:
                self._ledger.surprises.append(f"The organizer received an error: {error!r}")
                continue
            self._ledger.count(self._ledger.deeds, deed)

    def _act(self) -> str:
        """Publish the open rescoring, or prepare one if there is none."""
        with self._installation.database.read() as session:
            competition = lookup.get(session, slug=SLUG)
            version = preparation.open_version(session, competition=competition)
            live = lookup.live(competition)
            if version is None:
                corrected = read_solution(write_solution(self._rows, seed=next(self._seeds)))
                stored = stored_solutions.store_corrected(self._installation.storage, corrected, live=live)
        with self._installation.database.write() as session:
            competition = lookup.get(session, slug=SLUG)
            act = acting.begin(session, competition=competition, actor=ORGANIZER)
            if version is not None:
                publication.publish(act, number=version.number)
                return "rescoring published"
            version = preparation.prepare(act, solution=stored, reason="Labels.")
        return "rescoring prepared"
