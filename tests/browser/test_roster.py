"""A roster in a browser: faults, import, and the download of the links."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from grader.models import Role
from tests.browser.looks import faults

pytestmark = pytest.mark.browser
PAGE = "/competitions/toxicity/organize/roster"
HEADER = "Name;E-Mail;Student ID;Section\n"


def test_an_owner_imports_a_roster_and_downloads_the_links(live, browser: Browser, tmp_path: Path):
    live.competition(max_team_size=2)
    olga = live.person("Olga")
    live.give_role(olga, Role.OWNER)
    context = browser.new_context(base_url=live.address)
    cookie = olga.browser.get_cookie("fairboard_login")
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live.address}])
    page = context.new_page()
    page.goto(PAGE)
    assert not faults(page, PAGE)
    file = {"name": "r.csv", "mimeType": "text/csv"}
    page.set_input_files("#file", file | {"buffer": f"{HEADER};x;1;A".encode()})
    page.get_by_label("become teams").check()
    page.get_by_role("button", name="Import").click()
    assert "Line 2: The name is empty." in page.get_by_role("alert").inner_text()
    assert page.get_by_label("become teams").is_checked()
    lines = [f"Student {each};s{each}@example.org;{each:04d};Lab {each // 2}" for each in range(7)]
    page.set_input_files("#file", file | {"buffer": (HEADER + "\n".join(lines)).encode("utf-16")})
    page.get_by_role("button", name="Import").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download CSV").click()
    download.value.save_as(tmp_path / "links.csv")
    text = (tmp_path / "links.csv").read_bytes().decode()
    assert text.splitlines()[0] == "name,student id,section,link"
    assert text.splitlines()[1].startswith(f"Student 0,0000,Lab 0,{live.address}/class/")
    assert page.locator(".copyable code").inner_text().split() == text.split()
    assert page.locator("tbody tr").count() == 7
    assert not faults(page, PAGE)
    context.close()
