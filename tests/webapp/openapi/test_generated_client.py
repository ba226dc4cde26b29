"""Client generated from the OpenAPI document, tested on a running site."""

import importlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.front_server import BOUNDS, Running
from tests.fixtures.patience import HANG_SECONDS

# With these settings, the generator skips no operation or response.
CONFIG = {
    "content_type_overrides": {
        "application/toml": "application/octet-stream",
        "application/zip": "application/octet-stream",
    },
    "post_hooks": [],
}


class Generated:
    """The operations and models of the generated package, by name."""

    def __init__(self, url: str, token: str):
        self.package = importlib.import_module("fairboard_generated")
        self.models = importlib.import_module("fairboard_generated.models")
        self.client = self.package.AuthenticatedClient(base_url=url, token=token)

    def call(self, tag: str, operation: str, *arguments, **options):
        """Call an operation; return the whole response, whose result is in `parsed`."""
        module = importlib.import_module(f"fairboard_generated.api.{tag}.{operation}")
        return module.sync_detailed(*arguments, client=self.client, **options)


@pytest.fixture
def generated(
    make_arena: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Generated]:
    arena = make_arena()
    arena.competition()
    (tmp_path / "openapi.json").write_text(arena.app.test_client().get("/api/openapi.json").text)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
            *("--path", "openapi.json", "--config", "config.json"),
            *("--meta", "none", "--output-path", "fairboard_generated"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    server = Running(arena.app, BOUNDS)
    made = Generated(f"http://127.0.0.1:{server.address[1]}", arena.person("Ann").token)
    made.arena = arena  # type: ignore[attr-defined]
    yield made
    made.client.get_httpx_client().close()
    server.close()
    for name in [name for name in sys.modules if name.partition(".")[0] == "fairboard_generated"]:
        del sys.modules[name]


@pytest.mark.long
def test_a_generated_client_submits_a_file_and_reads_typed_responses(generated):
    models, arena = generated.models, generated.arena
    (line,) = generated.call("competitions", "competition_list").parsed.competitions
    assert (line.slug, line.phase) == ("toxicity", models.Phase.OPEN)
    payload = io.BytesIO(arena.truth.predictions())
    file = importlib.import_module("fairboard_generated.types").File(payload, "mine.csv", "text/csv")
    form = models.SubmissionForm(file=file, description="generated")
    sent = generated.call("submissions", "submit", "toxicity", body=form, idempotency_key="once")
    assert (sent.status_code, sent.parsed.status) == (201, models.SubmissionStatus.PENDING)
    payload.seek(0)
    again = generated.call("submissions", "submit", "toxicity", body=form, idempotency_key="once")
    assert (again.status_code, again.parsed.id) == (200, sent.parsed.id)
    arena.score_all()
    found = generated.call("submissions", "submission", sent.parsed.id).parsed
    assert (found.status, found.file_name, found.description) == ("scored", "mine.csv", "generated")
    assert found.terms["overall_auc"] > 0.5
    board = generated.call("leaderboards", "leaderboard", "toxicity", sort="score").parsed
    assert [row.score for row in board.rows] == [found.public_score]
    refused = generated.call("submissions", "submission", 999)
    assert (refused.status_code, refused.parsed.error) == (404, "unknown_submission")
    unreadable = generated.call(
        "account", "create_token", body=models.TokenRequest.from_dict({"name": "", "extra": 1})
    )
    assert unreadable.status_code == 400
    assert unreadable.parsed.problems
    later = {"added_later": [1]}
    line = {"slug": "a", "title": "A", "state": "open", "phase": "open", "rows": 1}
    line |= {"opens_at": None, "closes_at": None}
    assert models.CompetitionLine.from_dict(line | later).additional_properties == later
