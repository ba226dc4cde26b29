"""`fairboard mcp` with the reference client: available tools, results, denied access."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from sqlalchemy import update

from grader import db
from grader.client import Unusable
from grader.mcp import existing
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
def folder(tmp_path, predictions_csv):
    """An agent's folder with a valid and an invalid file, next to a secret file."""
    (tmp_path / "secret.csv").write_text("id,prediction\n")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "good.csv").write_bytes(predictions_csv(skill=0.5))
    (folder / "bad.csv").write_text("id,prediction\nr0,much\n")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    return folder


def with_agent(site, token, folder, act):
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


async def call(agent, tool, **arguments):
    """Return the result of a tool, or the text of its error."""
    result = await agent.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content


def test_agent_reads_submits_and_appears_on_the_leaderboard(service, live_site, folder):
    competition = service.competition(max_daily_submissions=5, rules="Be kind.")
    blob = service.storage.put(b"id,text\nr0,hello\n")
    with service.database.write() as session:
        act_of = {"actor": Actor.shell(), "now": service.now}
        files.add(session, competition=competition, name="train.csv", blob=blob, **act_of)
        session.execute(update(DataFile).values(check_state=DataCheckState.PASSED))

    async def act(agent):
        assert {tool.name for tool in (await agent.list_tools()).tools} == READING | SENDING
        found = await call(agent, "list_competitions")
        assert [each["slug"] for each in found["competitions"]] == ["toxicity"]
        version = (await call(agent, "read_competition"))["rules_version"]
        joined = await call(agent, "join_competition", accepted_rules_version=version)
        assert joined["entry"] == "joined"
        (listed,) = (await call(agent, "list_data_files"))["files"]
        got = await call(agent, "download_data", name=listed["name"])
        assert Path(got["path"]) == folder / "train.csv"
        assert "not accepted" in await call(agent, "download_data", name="../secret.csv")
        assert (await call(agent, "check_file", file="bad.csv"))["is_clean"] is False
        assert "folder" in await call(agent, "submit_file", file="../secret.csv")
        sent = await call(agent, "submit_file", file="good.csv", description="by an agent")
        done = await call(agent, "wait_for_score", submission=sent["id"])
        board = await call(agent, "read_leaderboard", competition="toxicity")
        assert [row["score"] for row in board["rows"]] == [done["public_score"]]
        assert len((await call(agent, "list_submissions"))["submissions"]) == 1
        off = await call(agent, "select_submission", submission=sent["id"], selected=False)
        assert off["is_selected"] is False

    with_agent(live_site, live_site.make_token(), folder, act)


def test_read_only_token_offers_no_submitting_tools(service, live_site, folder):
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


def test_files_stay_in_the_folder(folder, database_url):
    assert existing(folder, "good.csv") == folder / "good.csv"
    for name in ("../secret.csv", "none.csv", "link.csv", "/etc/passwd", "a\0b", "x" * 300, "."):
        with pytest.raises(Unusable):
            existing(folder, name)
