"""Rejection of URLs as local paths in settings, without creating folders."""

import pytest

from grader.text import is_elsewhere


@pytest.mark.parametrize(
    "address",
    [
        *("s3://bucket/x", "S3://bucket/x", "https://example.org/x", "file:///srv/x", "s3:/bucket/x"),
        *("backup@host:/srv/x", "backup@host:x", "backup@host:", "host.example.org:/srv/x"),
        *("192.0.2.7:/srv/x", "[2001:db8::7]:/srv/x", "backup@[2001:db8::7]:x"),
    ],
)
def test_addresses_are_elsewhere(address):
    assert is_elsewhere(address)


@pytest.mark.parametrize(
    "path", ["/srv/2026-03-01T10:00", "./s3:/bucket", "a:b", "C:/backups", "backups/x", "10:30/x", "-"]
)
def test_a_local_path_may_contain_a_colon(path):
    assert not is_elsewhere(path)


def test_the_data_folder_cannot_be_a_url(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", "s3://bucket/fairboard")
    result = run("migrate")
    assert (result.exit_code, "is a URL or a remote address." in result.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
