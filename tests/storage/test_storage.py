"""Blob storage in a folder and in a bucket on a real S3 server."""

import hashlib
import io
import os
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore.exceptions
import pytest
from flask import Flask

from grader.storage.stores import (
    BlobDamaged,
    BlobMissing,
    BlobTooLarge,
    LocalStorage,
    StorageUnavailable,
    StoredBlob,
    is_intact,
    open_storage,
)
from tests.fixtures.buckets import s3_bucket
from webapp.http import responses

ABSENT = "0" * 64


@pytest.fixture(params=["folder", "bucket"])
def storage(request, tmp_path):
    if request.param == "folder":
        return open_storage((tmp_path / "a folder").as_uri())
    return open_storage(request.getfixturevalue("bucket_url"))


@pytest.mark.parametrize("data", [b"", b"id,prediction\n", os.urandom(3_000_000)], ids=len)
def test_stored_bytes_are_read_by_their_sha256(storage, data):
    blob = StoredBlob(hashlib.sha256(data).hexdigest(), len(data))
    for source in (data, io.BytesIO(data), data):
        assert storage.put(source, max_bytes=len(data)) == blob
    assert storage.put(io.BytesIO(data), sha256=blob.sha256) == blob
    assert storage.read(blob.sha256) == data
    with storage.open(blob.sha256) as file:
        assert file.read() == data


def test_large_file_is_read_in_pieces_and_in_any_order(storage):
    data = os.urandom(1 << 20) * 20
    blob = storage.put(data)
    with storage.open(blob.sha256) as file:
        assert file.read(10) == data[:10]
        for place in (len(data) - 5, 9_000_000, 0):
            assert file.seek(place) == place
            assert file.read(100) == data[place : place + 100]
        assert file.seek(-7, os.SEEK_END) == len(data) - 7
        assert file.read() == data[-7:]
        assert file.read() == b""
        assert file.seek(3) == 3
        assert file.read() == data[3:]
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_bucket_outage_during_a_read_is_not_reported_as_a_missing_file():
    with s3_bucket() as (server, url):
        storage = open_storage(url)
        blob = storage.put(os.urandom(1 << 20) * 20)
        with storage.open(blob.sha256) as file:
            assert len(file.read(1 << 20)) == 1 << 20
            server.stop()
            with pytest.raises(StorageUnavailable):
                file.read()


def test_blobs_are_listed_with_size_and_age(storage):
    before = datetime.now(UTC) - timedelta(seconds=2)
    stored = {storage.put(os.urandom(size)) for size in (10, 20, 30)}
    listed = {blob.sha256: blob for blob in storage.blobs()}
    assert {(each.sha256, each.size) for each in stored} <= {
        (each.sha256, each.size) for each in listed.values()
    }
    assert all(before < listed[each.sha256].touched_at for each in stored)


def test_delete_old_deletes_only_old_blobs(storage):
    sha256, now = storage.put(b"how old").sha256, datetime.now(UTC)
    assert not storage.delete_old(sha256, before=now - timedelta(hours=1))
    assert storage.read(sha256) == b"how old"
    assert storage.delete_old(sha256, before=now + timedelta(hours=1))
    assert not storage.exists(sha256)
    assert not storage.delete_old(sha256, before=now + timedelta(hours=1))


def test_touch_and_repeated_upload_renew_a_blob(tmp_path):
    storage = LocalStorage(tmp_path)
    sha256 = storage.put(b"old").sha256
    path = next(tmp_path.rglob(sha256))
    for make_young in (lambda: storage.touch(sha256), lambda: storage.put(b"old")):
        os.utime(path, (0, 0))
        make_young()
        assert not storage.delete_old(sha256, before=datetime.now(UTC) - timedelta(hours=1))


def test_touch_renews_an_old_object_of_a_bucket(bucket_url, monkeypatch):
    storage = open_storage(bucket_url)
    sha256 = storage.put(b"an old object").sha256
    (first,) = (blob for blob in storage.blobs() if blob.sha256 == sha256)
    time.sleep(1.1)  # S3 times have a resolution of seconds.
    storage.touch(sha256)
    (young,) = (blob for blob in storage.blobs() if blob.sha256 == sha256)
    assert young.touched_at == first.touched_at
    monkeypatch.setattr("grader.storage.bucket.YOUNG", timedelta())
    storage.touch(sha256)
    (touched,) = (blob for blob in storage.blobs() if blob.sha256 == sha256)
    assert touched.touched_at > first.touched_at
    assert storage.read(sha256) == b"an old object"


def test_missing_blob_is_named(storage):
    sha256 = storage.put(b"short-lived").sha256
    assert storage.exists(sha256) and not storage.exists(ABSENT)
    for _ in range(2):
        storage.delete(sha256)
        assert not storage.exists(sha256)
    for look in (storage.read, storage.open, storage.touch):
        with pytest.raises(BlobMissing, match=ABSENT):
            look(ABSENT)


def test_data_above_the_limit_is_rejected_without_leftovers(storage):
    with pytest.raises(BlobTooLarge, match=r"exceeds the limit of 1,000 bytes"):
        storage.put(b"x" * 1001, max_bytes=1000)
    assert not storage.exists(hashlib.sha256(b"x" * 1001).hexdigest())
    assert storage.put(b"x" * 1000, max_bytes=1000).size == 1000


def test_rejected_or_interrupted_upload_leaves_no_draft(tmp_path):
    class Torn(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError

    storage = LocalStorage(tmp_path)
    with pytest.raises(ConnectionResetError):
        storage.put(Torn())
    with pytest.raises(BlobTooLarge):
        storage.put(b"xx", max_bytes=1)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_every_new_name_is_synced_and_a_known_folder_only_once(tmp_path, monkeypatch):
    synced: list[Path] = []
    monkeypatch.setattr("grader.storage.disk.sync", synced.append)
    root = tmp_path / "blobs"
    storage = LocalStorage(root)

    def put(data: bytes) -> list[Path]:
        synced.clear()
        folder = root / storage.put(data).sha256[:2]
        return [Path("folder") if path == folder else path for path in synced]

    folder = Path("folder")
    assert sorted(put(b"a")) == sorted([folder, root, tmp_path])
    assert put(b"a") == [folder]
    assert sorted(put(b"b")) == sorted([folder, root, tmp_path])  # a new folder
    assert put(b"a") == put(b"b") == [folder]
    shutil.rmtree(root)
    assert sorted(put(b"a")) == sorted([folder, root, tmp_path])
    # Another process may have been killed before it synced the folder.
    put(b"b")
    storage = LocalStorage(root)
    assert sorted(put(b"a")) == sorted([folder, root, tmp_path])
    assert put(b"b") == [folder]


def test_damaged_bytes_are_never_returned(tmp_path):
    storage = LocalStorage(tmp_path)
    sha256 = storage.put(b"good").sha256
    path = next(tmp_path.rglob(sha256))
    path.write_bytes(b"bad!")
    with pytest.raises(BlobDamaged, match=sha256):
        storage.read(sha256)
    path.unlink()
    path.symlink_to("/proc/self/mem")  # reading it raises EIO, like a broken sector
    assert not is_intact(storage, sha256)


def test_old_drafts_of_killed_processes_are_removed(tmp_path):
    storage = LocalStorage(tmp_path)
    kept = storage.put(b"kept").sha256
    old, young = tmp_path / "drafts" / "old", tmp_path / "drafts" / "young"
    for draft in (old, young):
        draft.write_bytes(b"half")
    yesterday = time.time() - 25 * 3600
    os.utime(old, (yesterday, yesterday))
    storage.remove_abandoned()
    assert not old.exists() and young.exists() and storage.exists(kept)


def test_unknown_scheme_is_rejected_by_name():
    with pytest.raises(ValueError, match="file:// or s3://, not 'ftp'"):
        open_storage("ftp://somewhere/blobs")


def test_unreadable_folder_is_not_reported_as_a_missing_blob(tmp_path):
    storage = open_storage(f"file://{tmp_path / 'blobs'}")
    blob = storage.put(b"data")
    path = next((tmp_path / "blobs").rglob(blob.sha256))
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageUnavailable):
        storage.read(blob.sha256)
    (tmp_path / "blobs").rename(tmp_path / "unmounted")
    with pytest.raises(StorageUnavailable):
        storage.read(blob.sha256)


def test_missing_bucket_is_named_and_not_reported_as_a_missing_blob(bucket_url):
    storage = open_storage("s3://misspelt/fairboard")
    asked = {
        "put": lambda: storage.put(b"data"),
        "read": lambda: storage.read(ABSENT),
        "open": lambda: storage.open(ABSENT),
        "exists": lambda: storage.exists(ABSENT),
        "touch": lambda: storage.touch(ABSENT),
        "blobs": lambda: list(storage.blobs()),
        "delete_old": lambda: storage.delete_old(ABSENT, before=datetime.now(UTC)),
    }
    for name, ask in asked.items():
        with pytest.raises(
            StorageUnavailable, match="There is no bucket s3://misspelt/fairboard at http://"
        ) as raised:
            ask()
        assert "\n" not in str(raised.value), name


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        ("<Code>AccessDenied</Code> with status code: 403", r"failed \(403, AccessDenied\)\. Check AWS"),
        ("error sending request for http://169.254.169.254/latest", "There are no keys for the bucket"),
    ],
)
def test_error_of_a_bucket_is_described_in_one_sentence(error, sentence, bucket_url):
    with pytest.raises(StorageUnavailable, match=sentence), open_storage(bucket_url).asking():
        raise obstore.exceptions.BaseError(f"{error}\n" * 30)


def test_unresponsive_bucket_is_not_reported_as_a_missing_blob(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")  # No server listens on this port.
    storage = open_storage("s3://bucket/prefix")
    with pytest.raises(StorageUnavailable, match="no response from the bucket s3://bucket/prefix at http"):
        storage.read("0" * 64)


def test_stored_file_is_sent_with_its_length_and_in_ranges(storage):
    data = os.urandom(1 << 20) * 20
    blob = storage.put(data)
    app = Flask(__name__)
    for asked, status, wanted in ((None, 200, data), ("bytes=15000000-", 206, data[15_000_000:])):
        headers = {"Range": asked} if asked else {}
        with app.test_request_context(headers=headers):
            answer = responses.send(storage.open(blob.sha256), name="data.bin", etag=blob.sha256)
            assert (answer.status_code, answer.content_length) == (status, len(wanted))
            assert b"".join(answer.response) == wanted
            answer.response.close()  # type: ignore[union-attr]
