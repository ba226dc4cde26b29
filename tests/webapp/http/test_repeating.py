"""Idempotency keys for file uploads, tested through the real web server."""

from collections.abc import Iterator

import pytest
from sqlalchemy import func, select

from grader.models import OrganizerJob, RepeatableRequest
from tests.fixtures.desk import API, Desk
from tests.fixtures.front_server import BOUNDS, Running
from tests.fixtures.web import Answer, Caller

DRAFT = f"{API}/competitions/next/organize"
# In bytes; the server does not keep bodies of this size in memory.
LARGE = 1_200_000


class Site:
    """A draft whose organizer calls the API, each time over a new connection."""

    def __init__(self, arena, front: Running):
        self.arena = arena
        self.olga = Desk(arena.person("Olga", is_admin=True))
        self.olga("POST", f"{API}/competitions", json={"slug": "next", "title": "Next"}, expect=201)
        self._caller = Caller(front.address[:2], self.olga.person.token)

    def send(self, path: str, body: bytes, content_type: str, key: str = "k") -> Answer:
        """Send a POST request with an idempotency key."""
        return self._caller.request("POST", path, body, Content_Type=content_type, Idempotency_Key=key)

    def jobs(self) -> int:
        """Return the number of organizer jobs."""
        with self.arena.database.read() as session:
            return session.scalar(select(func.count(OrganizerJob.id)))


@pytest.fixture
def site(arena) -> Iterator[Site]:
    front = Running(arena.app, BOUNDS)
    yield Site(arena, front)
    front.close()


def form(boundary: str, content: bytes, **fields: str) -> tuple[bytes, str]:
    """Return a form with a file, and its content type."""
    parts = [f'name="{name}"\r\n\r\n{text}\r\n'.encode() for name, text in fields.items()]
    parts.append(b'name="file"; filename="a.csv"\r\n\r\n' + content + b"\r\n")
    head = f"--{boundary}\r\nContent-Disposition: form-data; ".encode()
    body = b"".join(head + part for part in parts) + f"--{boundary}--\r\n".encode()
    return body, f"multipart/form-data; boundary={boundary}"


@pytest.mark.both_databases
@pytest.mark.parametrize("size", [0, LARGE])
def test_a_whole_body_upload_with_a_key_stores_one_file_and_repeats_its_response(site: Site, size: int):
    solution = site.arena.truth.solution() + b"\n" * size
    first, again = (site.send(f"{DRAFT}/solution", solution, "text/csv") for _ in range(2))
    assert (first.status, again.status, again.data) == (202, 202, first.data)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert site.jobs() == 1
    stored = site.send(f"{DRAFT}/data?file_name=a.csv", b"id\n1\n" + b"\n" * size, "text/csv", "data")
    assert (stored.status, stored.data["name"]) == (201, "a.csv")


def test_a_whole_body_upload_with_a_key_can_be_a_baseline(site: Site):
    desk, path = site.olga, f"{DRAFT}/data/baseline"
    missing = site.send(path, b"id,prediction\n", "text/csv")
    assert (missing.status, missing.data["error"]) == (409, "nothing_to_score")
    solution = desk.arena.truth.solution()
    begun = desk("POST", f"{DRAFT}/solution", data=solution, content_type="text/csv", expect=202)
    desk.work()
    desk("POST", f"{begun.json['url']}/accept")
    first, again = (site.send(path, desk.arena.truth.predictions(), "text/csv") for _ in range(2))
    assert (first.status, again.status, again.data) == (201, 201, first.data)


@pytest.mark.parametrize("size", [0, LARGE])
def test_a_different_form_boundary_is_the_same_request(site: Site, size: int):
    content = b"id\n1\n" + b"\n" * size
    sent = [form(f"boundary{number}", content, description="A") for number in (1, 22)]
    first, again = (site.send(f"{DRAFT}/data", *each) for each in sent)
    assert (first.status, again.status, again.data) == (201, 201, first.data)
    other = site.send(f"{DRAFT}/data", *form("boundary3", content, description="B"))
    assert (other.status, other.data["error"]) == (409, "key_used")


@pytest.mark.parametrize("is_form", [True, False])
def test_a_different_large_file_of_the_same_length_is_rejected(site: Site, is_form: bool):
    sent = [
        form("b", content) if is_form else (content, "text/csv")
        for content in (b"id\n1\n" + b"\n" * LARGE, b"id\n2\n" + b"\n" * LARGE)
    ]
    first, other = (site.send(f"{DRAFT}/data?file_name=a.csv", *each) for each in sent)
    assert (first.status, other.status, other.data["error"]) == (201, 409, "key_used")
    assert site.send(f"{DRAFT}/data?file_name=a.csv", *sent[1], "another").status == 201


def test_the_fields_of_a_form_without_a_file_are_compared(site: Site):
    path = f"{API}/competitions"
    head = 'Content-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    sent = [
        "".join(f"--{boundary}\r\n" + head.format(*field) for field in (("slug", "n2"), ("title", title)))
        + f"--{boundary}--\r\n"
        for boundary, title in (("b1", "T"), ("b2", "T"), ("b1", "U"))
    ]
    types = [f"multipart/form-data; boundary={each}" for each in ("b1", "b2", "b1")]
    first, again, other = (site.send(path, *each) for each in zip(map(str.encode, sent), types, strict=True))
    assert (first.status, again.status, again.data) == (201, 201, first.data)
    assert (other.status, other.data["error"]) == (409, "key_used")


def test_the_key_order_of_json_does_not_affect_the_comparison(site: Site):
    bodies = [
        b'{"slug": "n3", "title": "T"}',
        b'{"title":"T","slug":"n3"}',
        b'{"title":"U","slug":"n3"}',
        b"{",
    ]
    first, again, *others = (site.send(f"{API}/competitions", each, "application/json") for each in bodies)
    assert (first.status, again.status, again.data) == (201, 201, first.data)
    assert [(each.status, each.data["error"]) for each in others] == [(409, "key_used")] * 2


@pytest.mark.both_databases
def test_an_interrupted_upload_keeps_its_key(site: Site):
    sent = (b"id\n1\n" + b"\n" * LARGE, "text/csv")
    site.send(f"{DRAFT}/data?file_name=a.csv", *sent)
    with site.arena.database.write() as session:
        kept = session.scalars(select(RepeatableRequest)).one()
        kept.status = kept.answer = None
    again = site.send(f"{DRAFT}/data?file_name=a.csv", *sent)
    assert (again.status, again.data["error"], again.headers["Retry-After"]) == (409, "under_way", "2")


def test_a_rejected_file_releases_its_key(site: Site):
    refused = site.send(f"{DRAFT}/data?file_name=..", b"id\n", "text/csv")
    assert (refused.status, refused.data["error"]) == (409, "invalid_data_file")
    assert (
        site.send(f"{DRAFT}/data?file_name=..", b"id\n1\n", "text/csv").data["error"] == "invalid_data_file"
    )
