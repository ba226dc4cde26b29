"""The kaggle command behind docker-compose.yml's TLS proxy: `http_proxy=https://…`."""

from urllib.parse import urlsplit

import pytest

from tests.kaggle_client.conftest import open_hall

SLUG = "toxicity"


# Caddy has no certificate for connections without a host name, and the test connects to an address.
@pytest.mark.parametrize("make_proxy", ["nginx"], indirect=True)
def test_the_command_works_through_tls(tmp_path, migrated_sqlite, make_proxy):
    with open_hall(tmp_path, migrated_sqlite, base_url="https://board.example", trusted_proxies=1) as hall:
        hall.arena.competition()
        site = urlsplit(hall.url)
        proxy = make_proxy((site.hostname, site.port))
        ann = hall.desk("Ann")
        ann.url = f"https://{proxy.https[0]}:{proxy.https[1]}"
        assert SLUG in ann.ok("competitions", "list", "-v")
        ann.ok("competitions", "download", SLUG, "-f", "sample_submission.csv")
        ann.write("sub.csv", hall.arena.truth.predictions(noise=1.5, seed=1) + b"\n" * 400_000)
        assert "Successfully submitted" in ann.ok("competitions", "submit", SLUG, "-f", "sub.csv", "-m", "x")
        assert "SubmissionStatus.COMPLETE" in ann.ok("competitions", "submissions", SLUG, "-v")
