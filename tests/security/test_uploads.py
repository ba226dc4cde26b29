"""Hostile uploads: excessive sizes, many parts, wrong types, harmful file names."""

from io import BytesIO

import pytest

PATH = "/api/v1/competitions/toxicity/submissions"
CAP = 1_025_600  # of 400 rows


@pytest.fixture
def ann(arena):
    arena.competition()
    return arena.person("Ann")


def test_file_just_over_the_limit_is_rejected(arena, ann):
    answer = _send(arena, ann, b"x" * (CAP + 1))
    assert answer.status_code == 413
    assert answer.json["error"] == "file_too_large"
    assert answer.json["message"] == "The file is too large; the limit is 1 MB."


@pytest.mark.parametrize("path", [PATH, "/competitions/toxicity/submit"])
def test_body_over_the_limit_is_rejected_by_its_content_length(arena, ann, path):
    answer = ann.browser.post(
        path,
        content_type="multipart/form-data; boundary=b",
        environ_overrides={"CONTENT_LENGTH": "61300000"},
        headers=ann.bearer,
    )
    assert answer.status_code == 413
    assert "The file is too large; the limit is 1 MB." in answer.text


def test_body_without_a_length_is_cut_off_at_the_limit(arena, ann):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="p.csv"\r\n\r\n'
    answer = arena.app.test_client().post(
        PATH,
        input_stream=BytesIO(head + b"x" * (CAP + 200_000)),
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
        content_type="multipart/form-data; boundary=b",
        headers=ann.bearer,
    )
    assert answer.status_code == 413


def test_text_has_a_much_smaller_limit_than_a_file(arena, ann):
    answer = arena.app.test_client().post("/login", data={"name": "x" * 300_000})
    assert answer.status_code == 413
    assert _send(arena, ann, b"id,prediction\n", b"x" * 1_000_000).status_code == 413


def test_thousand_parts_are_rejected(arena, ann):
    parts = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="f%d"\r\n\r\nx\r\n' % place for place in range(1001)
    )
    sent = {"data": parts + b"--b--\r\n", "content_type": "multipart/form-data; boundary=b"}
    answer = arena.app.test_client().post(PATH, **sent, headers=ann.bearer)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "multipart/form-data; boundary=b"),
        (b"--b\r\n", "multipart/form-data; boundary=b"),
        (b"{}", "application/json"),
        (b"", "text/csv"),
        (b"file=x", "application/x-www-form-urlencoded"),
        (b"\r\n" * 1000, "multipart/form-data"),
    ],
)
def test_request_without_a_file_is_rejected_with_the_field_to_use(arena, ann, body, content_type):
    answer = arena.app.test_client().post(PATH, data=body, content_type=content_type, headers=ann.bearer)
    assert answer.status_code == 400
    assert answer.json["error"] == "file_missing"
    assert "`file`" in answer.json["message"]


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "C:\\x\\p.csv", "n" * 400 + ".csv", "=1+1.csv", "\u202egpj.csv"]
)
def test_file_names_are_kept_as_text_and_never_used_as_paths(arena, ann, name):
    answer = arena.app.test_client().post(
        PATH, data={"file": (BytesIO(b"id,prediction\n"), name)}, headers=ann.bearer
    )
    assert answer.status_code == 201
    shown = arena.app.test_client().get(answer.headers["Location"], headers=ann.bearer).json["file_name"]
    assert len(shown) <= 255
    assert not set(shown) & set("/\\\r\n")


def test_every_hostile_text_is_escaped(arena):
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    links = "[a](javascript:alert(3)) [b](data:text/html,x) <b onclick=alert(4)>c</b>"
    arena.competition(title=hostile, overview=f"{hostile}\n\n{links}")
    ann = arena.person(hostile)
    form = {"file": (BytesIO(b'id,prediction\n"<script>alert(5)",0\n'), hostile), "description": hostile}
    arena.app.test_client().post(PATH, data=form, headers=ann.bearer)
    submission_id = arena.submit(ann, arena.truth.predictions(), description=hostile)
    arena.score_all()
    ann.post("/tokens", {"name": hostile, "scopes": "read"})
    here = "/competitions/toxicity"
    pages = ("/submit", "/submissions", "/submissions/1", f"/submissions/{submission_id}", "/leaderboard")
    unknown = "/competitions/<script>alert(6)<script>"
    for path in ("/", "/account", unknown, here, *(f"{here}{page}" for page in pages)):
        text = ann.browser.get(path).text
        for each in ("<script>alert", "<img", 'href="javascript', "<b onclick"):
            assert each not in text, path


def _send(arena, person, file, description=b""):
    """Send a form that is encoded here, because the test client would keep a large one in an open file."""
    part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n%s\r\n'
    body = part % (b"file", b'; filename="p.csv"', file) + part % (b"description", b"", description)
    return arena.app.test_client().post(
        PATH, data=body + b"--b--\r\n", content_type="multipart/form-data; boundary=b", headers=person.bearer
    )
