"""Simulated clients, which upload, retry with the same key and read leaderboards, and an organizer."""

import hashlib
import http.client
import itertools
import json
import random
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

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
from tests.invariants.findings import BoardLine, BoardRead

BOUNDARY = "campaign"
TIMEOUT_SECONDS = 20
TRIES_AFTER_THE_END = 40
SUBMISSIONS = f"/api/v1/competitions/{SLUG}/submissions"
BOARD = f"/api/v1/competitions/{SLUG}/leaderboard"


class Request(NamedTuple):
    """The body of one upload and its headers."""

    form: bytes
    headers: dict[str, str]


class Answer(NamedTuple):
    """A complete response; status 0 means that there was no response."""

    status: int = 0
    body: Mapping[str, Any] = MappingProxyType({})


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
        request = self._request(token, data, key=f"{self._plan.seed}-{self._number}-{number}")
        chance = self._random.random()
        if chance < 0.06:
            self._break_off(request, share=self._random.choice((0.5, 1, 1)))
        if chance < 0.02:
            return  # This upload is not retried.
        answer = self._until_answered(request)
        if answer.status in (200, 201):
            self._ledger.acknowledge(answer.body["id"], sha256)
            if self._random.random() < 0.04:
                again = self._until_answered(request)
                if again.status and (again.status, again.body.get("id")) != (200, answer.body["id"]):
                    self._ledger.surprises.append(f"A repeated key returned {again.status}: {again.body}")
        elif answer.status:
            self._ledger.refused.add(sha256)
            if answer.status != 429:
                self._ledger.surprises.append(f"An upload returned {answer.status}: {answer.body}")
            elif len(self._tokens) > 1:
                with suppress(ValueError):
                    self._tokens.remove(token)  # This team has no submissions left.

    def _request(self, token: str, data: bytes, *, key: str) -> Request:
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{key}.csv"\r\n\r\n'
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
            "Idempotency-Key": key,
        }
        return Request(head.encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode(), headers)

    def _read_board(self):
        answer = self._ask("GET", f"{BOARD}?page={self._random.choice((1, 1, 2))}")
        if answer.status == 200:
            lines = tuple(
                BoardLine(row["rank"], row["team"], f"{row['score']:.5f}") for row in answer.body["rows"]
            )
            self._ledger.board_reads.append(BoardRead(SLUG, answer.body["scoring_version"], lines))

    def _until_answered(self, request: Request) -> Answer:
        """Retry until a final response arrives; return status 0 if there is none long after the end.

        A team with too many pending files sends no more, so uploads are never far ahead of scoring.
        """
        pause, tries_after_the_end = 0.05, 0
        while tries_after_the_end < TRIES_AFTER_THE_END:
            answer = self._ask("POST", SUBMISSIONS, request)
            if 0 < answer.status < 500 and answer.body.get("error") != "too_many_pending":
                return answer
            tries_after_the_end += self._truce.is_set()
            time.sleep(pause * (0.5 + self._random.random()))
            pause = min(1.0, pause * 2)
        return Answer()

    def _ask(self, method: str, path: str, request: Request | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, *(request or ()))
            response = connection.getresponse()
            text = response.read().decode()
            body = json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._ledger.count(self._ledger.answers, f"none ({type(error).__name__})")
            return Answer()
        finally:
            connection.close()
        self._ledger.count(self._ledger.answers, str(response.status))
        if response.status == 500:
            self._ledger.surprises.append(f"{method} {path} returned 500: {text[:300]}")
        self._ledger.texts.append(text)
        return Answer(response.status, body)

    def _break_off(self, request: Request, *, share: float):
        """Send part or all of a request and disconnect without reading the response."""
        lines = [f"POST {SUBMISSIONS} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(request.form)}"]
        head = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in request.headers.items()), "", ""])
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=5) as connection:
            connection.sendall(head.encode() + request.form[: int(share * len(request.form))])
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
