"""`fairboard mcp` with the reference client: available tools, results, denied access."""

import os
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from sqlalchemy import update

from grader import db
from grader.client import Unusable
from grader.mcp import WorkFolder
from grader.models import DataCheckState, DataFile
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files

pytestmark = [pytest.mark.parametrize("database_url", ["sqlite"], indirect=True), pytest.mark.system]
READING = {
    "list_competitions",
    "read_competition",
    "list_data_files",
    "download_data",
    "wait_for_score",
    "list_submissions",
    "read_leaderboard",
}
SENDING = {"check_file", "join_competition", "select_submission", "submit_file"}


@pytest.fixture
def folder(tmp_path: Path, predictions_csv) -> Path:
    """An agent's folder with a valid and an invalid file, next to a secret file."""
    (tmp_path / "secret.csv").write_text("id,prediction\n")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "good.csv").write_bytes(predictions_csv(skill=0.5))
    (folder / "bad.csv").write_text("id,prediction\nr0,much\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (folder / "new.csv.part").symlink_to(tmp_path / "planted")
    return folder


def with_agent(site, token: str, folder: Path, act: Callable[[Any], Awaitable[None]]):
    """Run an agent's actions using the reference client and the real command."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "grader.cli", "mcp", str(folder)],
        env={**os.environ, "FAIRBOARD_SITE": site.address, "FAIRBOARD_TOKEN": token},
    )

    async def run():
        async with Client(stdio_client(command)) as agent:
            await act(agent)

    with ThreadPoolExecutor(1) as thread:  # A browser test may have left its event loop in this thread.
        thread.submit(anyio.run, run).result()


async def call(agent, tool: str, **arguments) -> Any:
    """Return the result of a tool, or the text of its error."""
    result = await agent.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content


def test_agent_reads_checks_submits_waits_and_appears_on_the_leaderboard(service, live_site, folder: Path):
    competition = service.competition(max_daily_submissions=5, overview="Find what hurts.")
    blob = service.storage.put(b"id,text\nr0,hello\n")
    with service.database.write() as session:
        act_of = {"actor": Actor.shell(), "now": service.now}
        files.add(session, competition=competition, name="train.csv", blob=blob, **act_of)
        session.execute(update(DataFile).values(check_state=DataCheckState.UNCHECKED))

    async def act(agent):
        offered = (await agent.list_tools()).tools
        assert {tool.name for tool in offered} == READING | SENDING
        read_only = {tool.name for tool in offered if tool.annotations.read_only_hint}
        assert read_only == READING - {"download_data"} | {"check_file"}
        assert [tool.name for tool in offered if tool.annotations.destructive_hint] == ["select_submission"]
        found = await call(agent, "list_competitions")
        assert [each["slug"] for each in found["competitions"]] == ["toxicity"]
        assert (await call(agent, "read_competition"))["overview"] == "Find what hurts."
        (listed,) = (await call(agent, "list_data_files"))["files"]
        got = await call(agent, "download_data", name=listed["name"])
        assert Path(got["path"]).read_bytes() == b"id,text\nr0,hello\n"
        assert Path(got["path"]).parent == folder
        assert (await call(agent, "check_file", file="bad.csv"))["is_clean"] is False
        sent = await call(agent, "submit_file", file="good.csv", description="by an agent")
        done = await call(agent, "wait_for_score", submission=sent["id"])
        assert (done["status"], done["description"]) == ("scored", "by an agent")
        board = await call(agent, "read_leaderboard", competition="toxicity")
        assert [row["score"] for row in board["rows"]] == [done["public_score"]]
        assert len((await call(agent, "list_submissions"))["submissions"]) == 1
        off = await call(agent, "select_submission", submission=sent["id"], selected=False)
        on = await call(agent, "select_submission", submission=sent["id"])
        assert (off["is_selected"], on["is_selected"]) == (False, True)

    with_agent(live_site, live_site.make_token(), folder, act)


def test_read_only_token_offers_no_submitting_tools(service, live_site, folder: Path):
    service.competition()
    with service.database.write() as session:
        token = api_tokens.create(
            session, user=service.user(), name="eyes", scopes=[Scope.READ], now=db.now(session)
        )[1]

    async def act(agent):
        assert {tool.name for tool in (await agent.list_tools()).tools} == READING
        assert isinstance(await call(agent, "submit_file", file="good.csv"), str)

    with_agent(live_site, token, folder, act)
    assert not any(request.startswith("POST") for request in live_site.requests)


def test_files_outside_the_folder_are_inaccessible_and_wrong_arguments_are_reported(
    service, live_site, folder: Path
):
    service.competition()

    async def act(agent):
        for name in ("../secret.csv", str(folder.parent / "secret.csv"), "link.csv", ".", "a\0b", "none.csv"):
            assert "folder" in await call(agent, "submit_file", file=name) or "\0" in name
        for arguments in ({"path": "good.csv"}, {"file": 7}):
            assert isinstance(await call(agent, "submit_file", **arguments), str)
        assert isinstance(await call(agent, "wait_for_score", submission=99), str)

    with_agent(live_site, live_site.make_token(), folder, act)
    assert not any("submissions" in request and request.startswith("POST") for request in live_site.requests)


def test_download_is_written_to_the_folder(folder: Path, database_url: str):
    found = WorkFolder(folder)
    assert found.new("train.csv") == folder / "train.csv"
    (folder / "below").mkdir()
    for name in ("../x.csv", "below/x.csv", "link.csv", "new.csv", "/etc/passwd"):
        with pytest.raises(Unusable):
            found.new(name)


def test_agent_joins_with_the_rules_that_it_has_read(service, live_site, folder: Path):
    service.competition(rules="Be kind.")

    async def act(agent):
        assert isinstance(await call(agent, "join_competition"), str)
        version = (await call(agent, "read_competition"))["rules_version"]
        joined = await call(agent, "join_competition", accepted_rules_version=version)
        assert joined["entry"] == "joined"

    with_agent(live_site, live_site.make_token(), folder, act)
