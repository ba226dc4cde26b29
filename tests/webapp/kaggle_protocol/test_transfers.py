"""Transfers by the kaggle command: uploads, ranges, signatures, errors."""

import hashlib
import io
import zipfile
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.exc import OperationalError

from grader.models import AnnouncedUpload, DataCheckState, Submission
from grader.services.competitions import lookup
from grader.services.identity import api_tokens
from grader.services.site.log import Actor
from grader.services.solutions import data_files
from grader.services.submissions import uploads
from grader.storage import disk

API = "/api/v1"
CALL = f"{API}/competitions.CompetitionApiService"
SLUG = {"competitionName": "toxicity"}
DATA = bytes(range(256)) * 40


@pytest.fixture
def ann(arena):
    """Ann, a participant in a competition that has a data file."""
    arena.competition()
    add_file(arena, "data.bin", DATA)
    return arena.person("Ann")


def add_file(arena, name, content):
    with arena.database.write() as session:
        blob = arena.storage.put(content)
        file = data_files.add(
            session,
            competition=lookup.get(session, slug="toxicity"),
            name=name,
            blob=blob,
            actor=Actor(None, "tests"),
            now=arena.now(),
        )
        file.check_state, file.findings = DataCheckState.PASSED, {"sha256": blob.sha256}


def call(person, method, **sent):
    client = person.arena.app.test_client()
    return client.post(f"{CALL}/{method}", json=sent, headers=person.bearer)


def begin(person, size, name="sub.csv"):
    """Announce a submission and return its token and upload URL."""
    told = call(person, "StartSubmissionUpload", **SLUG, fileName=name, contentLength=size).json
    return told["token"], told["createUrl"]


def put(person, url, body, content_range=None):
    headers = {"Content-Range": content_range} if content_range else {}
    return person.arena.app.test_client().put(url, data=body, headers=headers)


def offered(person, method, **sent):
    answer = call(person, method, **SLUG, **sent)
    assert answer.status_code == 302, answer.text
    return str(answer.headers["Location"])


def get(person, url, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return person.arena.app.test_client().get(url, headers=named)


def test_a_repeated_request_submits_an_upload_once(arena, ann):
    file = arena.truth.predictions(noise=1.5, seed=1)
    token, url = begin(ann, size := len(file))
    asked = put(ann, url, b"", f"bytes */{size}")
    assert (asked.status_code, asked.headers.get("Range"), asked.headers.get("Location")) == (308, None, None)
    refused = call(ann, "CreateSubmission", **SLUG, blobFileTokens=token)
    assert (refused.status_code, refused.json["error"]) == (409, "upload_incomplete")
    assert put(ann, url, file, f"bytes 0-{size - 1}/{size}").status_code == 200
    assert put(ann, url, b"", f"bytes */{size}").status_code == 200
    accepted = call(ann, "CreateSubmission", **SLUG, blobFileTokens=token)
    again = call(ann, "CreateSubmission", **SLUG, blobFileTokens=token)
    assert accepted.status_code == again.status_code == 200
    assert accepted.json["ref"] == again.json["ref"]
    arena.score_all()
    assert call(ann, "GetSubmission", ref=accepted.json["ref"]).json["status"] == "COMPLETE"
    link = call(ann, "DownloadSubmission", submissionId=accepted.json["ref"]).headers["Location"]
    assert get(ann, link).data == file


def test_an_empty_file_is_complete_once_it_is_received(ann):
    token, url = begin(ann, 0)
    assert call(ann, "CreateSubmission", **SLUG, blobFileTokens=token).status_code == 409
    assert put(ann, url, b"").status_code == 200
    assert call(ann, "CreateSubmission", **SLUG, blobFileTokens=token).status_code == 200


@pytest.mark.parametrize(
    ("body", "content_range", "status"),
    [
        (b"12345678901", None, 413),
        (b"123456", "bytes 0-9/10", 422),
        (b"1234567890", "bytes 0-9/11", 400),
        (b"1234567890", "lines 0-9/10", 400),
        (b"12345", "bytes 5-9/10", 400),
        (b"12345678", None, 422),
    ],
)
def test_a_file_with_an_unexpected_length_is_incomplete(ann, body, content_range, status):
    _, url = begin(ann, 10)
    answer = put(ann, url, body, content_range)
    assert answer.status_code == status, answer.text
    assert put(ann, url, b"", "bytes */10").status_code == 308


def test_an_upload_belongs_to_its_user_and_expires(arena, ann):
    bob = arena.person("Bob")
    token, url = begin(ann, 5)
    assert put(ann, url, b"12345").status_code == 200
    assert call(bob, "CreateSubmission", **SLUG, blobFileTokens=token).status_code == 404
    assert put(ann, f"{API}/uploads/guessed", b"12345").status_code == 404
    with arena.database.write() as session:
        assert uploads.forget(session, now=arena.now() + timedelta(days=6)) is None
        uploads.forget(session, now=arena.now() + timedelta(days=8))
    assert put(ann, url, b"", "bytes */5").status_code == 404


def test_the_oldest_unused_uploads_are_deleted_at_the_limit(arena, ann, monkeypatch):
    monkeypatch.setattr(uploads, "MOST_UNUSED", 3)
    monkeypatch.setattr(uploads, "MOST_UNUSED_BYTES", 100)
    urls = [begin(ann, 10)[1] for _ in range(4)]
    assert [put(ann, url, b"1234567890").status_code for url in urls] == [404, 200, 200, 200]
    begin(ann, 95)
    assert [put(ann, url, b"", "bytes */10").status_code for url in urls] == [404] * 4
    with arena.database.read() as session:
        assert session.query(AnnouncedUpload).count() == 1


def test_a_nearly_full_disk_deletes_idle_uploads_before_rejecting_a_file(arena, ann, monkeypatch):
    _, url = begin(ann, 5)
    assert put(ann, url, b"01234").status_code == 200
    with arena.database.write() as session:
        session.query(AnnouncedUpload).order_by(AnnouncedUpload.id).first().created_at -= uploads.IDLE_AFTER
    bob, five = arena.person("Bob"), hashlib.sha256(b"01234").hexdigest()
    monkeypatch.setattr(disk, "is_short", lambda *_, only_blobs=False, **__: not only_blobs)
    # Deleting blobs would not help.
    assert put(bob, begin(bob, 10)[1], b"0123456789").status_code == 507
    monkeypatch.setattr(disk, "is_short", lambda *_, **__: five in {b.sha256 for b in arena.storage.blobs()})
    arena.submit(bob, arena.truth.predictions())
    assert put(ann, url, b"", "bytes */5").status_code == 404
    monkeypatch.setattr(disk, "is_short", lambda *_, **__: True)
    assert put(bob, begin(bob, 10)[1], b"0123456789").status_code == 507


def test_a_download_supports_ranges(ann):
    url = offered(ann, "DownloadDataFile", fileName="data.bin")
    assert url.startswith("http://localhost/")
    assert url.partition("?")[0].endswith("/data.bin")
    whole = get(ann, url)
    assert (whole.status_code, whole.data) == (200, DATA)
    assert whole.headers["Content-Type"] == "application/octet-stream"
    assert whole.headers["Accept-Ranges"] == "bytes"
    assert whole.headers["Last-Modified"].endswith(" GMT")
    assert int(whole.headers["Content-Length"]) == len(DATA)
    etag, then = whole.headers["ETag"], whole.headers["Last-Modified"]
    for known in (etag, then):
        part = get(ann, url, Range="bytes=100-", If_Range=known)
        assert (part.status_code, part.data) == (206, DATA[100:])
        assert part.headers["Content-Range"] == f"bytes 100-{len(DATA) - 1}/{len(DATA)}"
    assert get(ann, url, Range="bytes=100-", If_Range='"other"').status_code == 200
    assert get(ann, url, Range=f"bytes={len(DATA)}-").status_code == 416


def test_a_download_url_is_bound_to_its_file_version_and_user(arena, ann):
    url = offered(ann, "DownloadDataFile", fileName="data.bin")
    path, _, key = url.partition("?key=")
    for forged in (
        f"{path}?key={key[:-2]}xx",
        f"{path}?key=",
        path.replace("data.bin", "other") + f"?key={key}",
    ):
        answer = get(ann, forged)
        assert (answer.status_code, answer.json["error"]) == (410, "link_expired")
    add_file(arena, "data.bin", DATA + b"new")
    assert get(ann, url).status_code == 410


def test_a_download_url_expires_with_its_token_and_has_no_more_rights(arena, ann):
    url = offered(ann, "DownloadDataFile", fileName="data.bin")
    assert get(ann, url).status_code == 200
    with arena.database.write() as session:
        [token] = api_tokens.list_own(session, user=ann.user)
        token.expires_at = arena.now()
    assert (get(ann, url).status_code, get(ann, url).json["error"]) == (410, "link_expired")
    with arena.database.write() as session:
        [token] = api_tokens.list_own(session, user=ann.user)
        token.expires_at = None
    assert get(ann, url).status_code == 200
    with arena.database.write() as session:
        api_tokens.revoke(session, user=ann.user, token_id=token.id, now=arena.now())
    assert get(ann, url).status_code == 410


def test_a_held_back_file_cannot_be_downloaded(arena, ann):
    with arena.database.write() as session:
        file = data_files.get(session, competition=lookup.get(session, slug="toxicity"), name="data.bin")
        file.check_state = DataCheckState.HELD
    answer = call(ann, "DownloadDataFile", **SLUG, fileName="data.bin")
    assert (answer.status_code, answer.json["code"]) == (503, 503)
    with zipfile.ZipFile(io.BytesIO(get(ann, offered(ann, "DownloadDataFiles")).data)) as packed:
        assert packed.namelist() == ["sample_submission.csv"]


def test_token_introspection_returns_active_or_inactive(arena, ann, monkeypatch):
    address, client = f"{API}/security.OAuthService/IntrospectToken", arena.app.test_client()
    assert client.post(address, json={"token": ann.token}).json["username"] == "Ann"
    assert client.post(address, json={"token": "guessed"}).json == {"active": False, "username": ""}
    for body in (b"", b"{", b"[]", b'{"token": 7}'):
        answer = client.post(address, data=body, content_type="application/json")
        assert answer.status_code in (200, 400)

    def away(*_, **__):
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(api_tokens, "find", away)
    assert client.post(address, json={"token": ann.token}).json["code"] == 400


def test_the_kaggle_page_shows_the_settings_of_this_site(ann):
    page = ann.browser.get("/competitions/toxicity/kaggle").text
    assert "http_proxy=http://localhost" in page and "kaggle_here competitions download toxicity" in page


def test_old_versions_of_the_command_get_a_list_with_states_in_lower_case(ann):
    content = ann.arena.truth.predictions(noise=1.5, seed=1)
    token, url = begin(ann, len(content))
    put(ann, url, content)
    client = ann.arena.app.test_client()
    sent = {"blobFileTokens": token, "submissionDescription": "first"}
    path = f"{API}/competitions/submissions"
    assert client.post(f"{path}/submit/toxicity", data=sent, auth=("ann", ann.token)).status_code == 200
    (line,) = client.get(f"{path}/list/toxicity", auth=("ann", ann.token)).json
    assert (line["description"], line["status"]) == ("first", "pending")


def test_only_members_see_the_ids_of_the_submissions_of_a_team(arena, ann):
    own = arena.submit(ann, arena.truth.predictions(noise=1.5, seed=1))
    arena.score_all()
    with arena.database.read() as session:
        team_id = session.get_one(Submission, own).team_id
    told = [
        call(person, "ListTeamPublicSubmissions", teamId=team_id).json["submissions"]
        for person in (ann, arena.person("Bob"))
    ]
    assert [[each["id"] for each in submissions] for submissions in told] == [[own], [0]]


def test_a_token_for_one_competition_is_denied_in_others(arena, ann):
    other = arena.competition(slug="other", title="Other")
    with arena.database.write() as session:
        _, token = api_tokens.create(session, user=ann.user, name="bound", now=arena.now(), competition=other)
    bound = replace(ann, token=token)
    assert call(bound, "GetCompetition", competitionName="other").status_code == 200
    denied = call(bound, "GetCompetition", **SLUG)
    assert (denied.status_code, denied.json["error"]) == (403, "other_competition")


def test_denied_requests_return_403_as_json(arena, ann):
    client = arena.app.test_client()
    answer = client.post(f"{CALL}/ListCompetitions", json={})
    assert (answer.status_code, answer.json["code"]) == (403, 403)
    assert "KAGGLE_API_TOKEN" in answer.json["message"]
    basic = client.post(f"{CALL}/ListCompetitions", json={}, auth=("anybody", ann.token))
    assert basic.status_code == 200
    for method, status in (("get", 405), ("post", 501)):
        answer = getattr(client, method)(f"{API}/kernels.KernelsApiService/ListKernels", headers=ann.bearer)
        assert (answer.status_code, answer.json["code"]) == (status, status)
        assert answer.mimetype == "application/json"
    large = client.post(f"{CALL}/ListCompetitions", data=b"x" * 300_000, headers=ann.bearer)
    assert (large.status_code, large.json["code"]) == (413, 413)


def test_a_leaderboard_zip_is_kept_for_seconds(arena, ann, monkeypatch):
    arena.submit(ann, arena.truth.predictions())
    arena.score_all()
    monkeypatch.setattr(arena.app.extensions["fairboard"].pages, "seconds", 60)
    bob, packed = arena.person("Bob"), []
    write = zipfile.ZipFile.writestr
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *args: packed.append(args[1]) or write(*args))
    first, second = [get(each, offered(each, "DownloadLeaderboard")) for each in (ann, bob)]
    assert first.data == second.data and len(packed) == 1
