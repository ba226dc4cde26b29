"""A competition run, rescored and closed from another machine, in the words of this one."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from grader.services.closing import close

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
SLUG = "toxicity"


@pytest.fixture
def competition(service: Any, request: Any) -> Any:
    """A competition with scored submissions of three teams; one that is over for tests of the close."""
    closes_at = service.now + timedelta(days=1) if "packed" in request.node.name else None
    found = service.competition(SLUG, max_daily_submissions=3, closes_at=closes_at)
    for place, name in enumerate(["ann", "bob", "cem"]):
        service.score(service.submit(found, user=name, seed=place, skill=1 + place / 4))
    return found


def corrected(solution: bytes) -> bytes:
    """Return a solution with the label of one row turned round."""
    head, row, *others = solution.decode().splitlines()
    row_id, label, *rest = row.split(",")
    return "\n".join([head, ",".join([row_id, str(1 - int(label)), *rest]), *others]).encode()


def test_a_running_competition_is_steered(olga: Any, competition: Any, tmp_path: Path) -> None:
    def said(*words: str) -> str:
        result = olga("competition", *words)
        assert result.exit_code == 0, result.output
        return str(result.stdout)

    (tmp_path / "text.md").write_text("Hello **all**.")
    assert said("pause", SLUG, "--message", "Wait.").endswith("People who try to submit see: Wait.\n")
    assert said("resume", SLUG) == f"Submissions to {SLUG} are open again.\n"
    assert said("announce", SLUG, tmp_path / "text.md", "--title", "Hi").startswith("Announcement 1 is on")
    assert "ann can send 2 more on " in said("grant", SLUG, "2", "--team", "ann", "--reason", "an outage")
    assert "Every team can send 1 more on " in said("grant", SLUG, "1", "--reason", "an outage")
    assert said("rename-team", SLUG, "bob", "Bees", "--reason", "rude") == "bob is now called Bees.\n"
    assert said("free-team-name", SLUG, "Bees") == "Bees can choose its name again.\n"
    assert "cem is disqualified" in said("disqualify", SLUG, "cem", "--reason", "two accounts")
    assert "cem is back" in said("reinstate", SLUG, "cem")
    assert said("mark", SLUG, "3", "hidden") == f"Submission #3 of {SLUG} is hidden.\n"
    assert said("organizer", "add", SLUG, "ann", "--role", "viewer") == f"ann is viewer of {SLUG}.\n"
    assert said("organizer", "add", SLUG, "ann") == f"ann is editor of {SLUG}.\n"
    assert [line.split()[:2] for line in said("organizer", "list", SLUG).splitlines()[1:]] == [
        ["ann", "editor"]
    ]
    assert "ann is no longer an organizer" in said("organizer", "remove", SLUG, "ann")
    assert said("admit", SLUG, "ann") == f"ann is admitted to {SLUG}.\n"
    assert "  olga " in said("audit", SLUG, "--action", "team")
    assert said("export", SLUG, "submissions").count("\n") == 4
    assert json.loads(olga("competition", "list", "--json").stdout)["competitions"][0]["slug"] == SLUG
    assert olga("competition", "retry", SLUG).exit_code == 3  # none has failed
    assert olga("competition", "mark", SLUG, "99", "hidden").exit_code == 3


def test_names_of_a_class_are_read_in_utf_8_with_or_without_a_mark(
    olga: Any, run: Any, service: Any, competition: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in service.settings.environment().items():
        monkeypatch.setenv(name, value)
    names = tmp_path / "names.txt"
    for where, person in ((olga, "dora"), (run, "emil")):
        names.write_text(person, encoding="utf-8-sig")
        made = where("competition", "accounts", SLUG, names)
        assert made.stdout.startswith(f"{person},"), made.output
        names.write_bytes("J\xfcrgen".encode("latin-1"))
        refused = where("competition", "accounts", SLUG, names)
        assert (refused.exit_code, "is not UTF-8: byte 2." in refused.stderr) == (1, True), refused.output


def test_people_are_listed_and_invited(olga: Any, run: Any, service: Any, live_site: Any) -> None:
    service.user("ann")
    assert "olga (administrator)" in olga("user", "list").stdout
    assert "/reset/" in olga("user", "reset-link", "ann").stdout
    assert olga("user", "invite", "--count", "2").stdout.count("/sign-up/") == 2
    assert olga("user", "reset-link", "nobody").exit_code == 1


def test_a_corrected_solution_is_previewed_published_and_rolled_back(
    olga: Any, competition: Any, solution_csv: Any, tmp_path: Path
) -> None:
    path = tmp_path / "corrected.csv"
    path.write_bytes(corrected(solution_csv()))
    preview = olga("rescore", SLUG, path, "--reason", "one label", "--preview", "--csv", tmp_path / "out")
    assert preview.exit_code == 0, preview.output
    assert preview.stdout.endswith(f"`fairboard rescore {SLUG} --publish` publishes it.\n")
    assert (tmp_path / "out" / "teams.csv").read_text().count("\n") == 7
    asked = olga("rescore", SLUG, "--publish", input="n\n")
    assert (asked.exit_code, "Nothing was switched" in asked.stderr) == (1, True)
    done = olga("rescore", SLUG, "--publish", "--yes")
    assert done.stdout == f"All leaderboards of {SLUG} now use scoring version 2.\n", done.output
    back = olga("rescore", SLUG, "--rollback", "1", "--reason", "it was right", "--yes")
    assert back.stdout == f"All leaderboards of {SLUG} now use scoring version 1.\n", back.output
    assert "No rescoring" in olga("rescore", SLUG, "--drop").stderr


def test_a_competition_is_verified_revealed_made_final_and_packed(
    olga: Any, service: Any, competition: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    with service.database.write() as session:
        close.settle(session, competition=session.merge(competition))
    asked = olga("competition", "reveal", SLUG, input="n\n")
    assert (asked.exit_code, "Nothing is revealed." in asked.stderr) == (1, True), asked.output
    assert olga("competition", "verify", SLUG).stdout.startswith("All agree to the last bit: 3 submissions")
    revealed = olga("competition", "reveal", SLUG)
    assert f"leaderboard of {SLUG} is revealed, with 3 teams." in revealed.stdout, revealed.output
    assert "stored as number 1" in olga("competition", "finalize", SLUG).stdout
    packed = olga("competition", "bundle", SLUG, "--out", tmp_path / "final.zip")
    assert packed.stdout.startswith(f"{tmp_path}/final.zip: "), packed.output
    published = olga("competition", "publish-solution", SLUG, "--yes")
    assert f"The solution of {SLUG} is public; its sha256 is " in published.stdout, published.output
    assert json.loads(olga("competition", "receipt", SLUG, "1").stdout)["submission"]
