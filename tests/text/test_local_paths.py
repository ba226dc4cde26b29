"""Local paths, and URLs and remote addresses that are none."""

import pytest

from grader.text import require_local

ADDRESSES = (
    *("s3://bucket/x", "S3://bucket/x", "https://example.org/x", "file:///srv/x", "s3:/bucket/x"),
    *("backup@host:/srv/x", "backup@host:x", "backup@host:", "host.example.org:/srv/x"),
    *("192.0.2.7:/srv/x", "[2001:db8::7]:/srv/x", "backup@[2001:db8::7]:x"),
)
PATHS = ("/srv/2026-03-01T10:00", "./s3:/bucket", "backups/x", "backups/10:30", "-")


def test_addresses_are_distinguished_from_local_paths_with_a_colon():
    for path in PATHS:
        require_local(path)
    for address in ADDRESSES:
        with pytest.raises(ValueError, match="is a URL or a remote address"):
            require_local(address)
