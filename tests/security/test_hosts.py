"""Host headers: rejection of unknown names, and no forged names in links."""

import re
import socket

import pytest

TEAM = "/competitions/toxicity/team"
FORGED = (
    *("evil.example", "evil.example:7777", "localhost.evil.example", "10.9.8.7"),
    *("localhost@evil.example", "[::2]"),
)


class Linking:
    """An administrator with a team, and the pages that create links for other users."""

    def __init__(self, arena):
        arena.competition()
        self.ann, self.root = arena.person("Ann"), arena.person("Root", is_admin=True)
        assert self.root.post(f"{TEAM}", {"name": "Aces"}).status_code == 303

    def pages(self, host):
        """Return the content of these pages when they are requested under a host name."""
        token = self.root.arena.form_token(self.root.browser, "/account")
        cookies = (self.root.browser.get_cookie(f"fairboard_{name}") for name in ("login", "session"))
        sent = "; ".join(f"{cookie.key}={cookie.value}" for cookie in cookies if cookie)
        # The test client would send its cookies only to its own host.
        browser = self.root.arena.app.test_client(use_cookies=False)
        headers = {"Host": host, "Cookie": sent}
        paths = ("/people/invitations", f"/people/{self.ann.user.id}/reset-link", f"{TEAM}/link")
        answers = [browser.post(path, data={"csrf_token": token}, headers=headers) for path in paths]
        answers.append(browser.get("/competitions/new", headers=headers))
        assert [answer.status_code for answer in answers] == [201, 201, 201, 200]
        return [answer.text for answer in answers]


def test_only_local_host_names_are_used_in_links_without_a_public_address(make_arena):
    linking = Linking(make_arena())
    for host in FORGED:
        for text in linking.pages(host):
            assert "evil" not in text and "10.9.8.7" not in text and "[::2]" not in text
            assert re.search(r"http://(127\.0\.0\.1|localhost)(:7777)?/", text)
    for host in ("localhost:7777", "127.0.0.1:7777", f"{socket.gethostname()}:8000", "localhost"):
        assert all(f"http://{host}/" in text for text in linking.pages(host)), host


def test_every_link_starts_with_the_public_address(make_arena):
    arena = make_arena(base_url="http://board.example:8080/")
    linking = Linking(arena)
    for host in ("board.example:8080", "localhost", "127.0.0.1:7777", "10.9.8.7"):
        for text in linking.pages(host):
            assert "http://board.example:8080/" in text
            assert f"http://{host}/" not in text or host == "board.example:8080"


@pytest.mark.parametrize("header", ["Origin", "Referer"])
@pytest.mark.parametrize(
    "url", ["http://[", "https://[v1.x]/", "https://board.example.org:x/", "//", "\u00fc"]
)
def test_form_with_an_invalid_address_in_a_header_is_rejected(make_arena, header, url):
    arena = make_arena(base_url="https://board.example.org")
    browser, site = arena.app.test_client(), {"base_url": "https://board.example.org"}
    token = re.search(r'name="csrf_token" value="([^"]+)"', browser.get("/login", **site).text)[1]
    sent = {"Referer": "https://board.example.org/login"} | {header: url}
    answer = browser.post("/login", data={"csrf_token": token}, headers=sent, **site)
    assert (answer.status_code, "another site" in answer.text) == (403, True)


def test_unknown_host_names_are_rejected_and_configured_ones_accepted(make_arena):
    arena = make_arena(base_url="http://board.example", trusted_hosts="Other.example, .inside.example")
    arena.competition()
    browser = arena.app.test_client()
    good = ("board.example", "BOARD.example.", "board.example:99", "localhost:80", "other.example")
    good += ("localhost", "a.inside.example", "192.0.2.7:7777", "[::1]:7777")
    bad = ("evil.example", "board.example.evil.example", "xboard.example", "inside.example.evil", "", "a b")
    for path in ("/", "/login", "/api/v1/competitions/toxicity", "/static/fairboard.css", "/nothing"):
        for host in good:
            assert browser.get(path, headers={"Host": host}).status_code in (200, 401, 404), (path, host)
        for host in bad:
            answer = browser.get(path, headers={"Host": host})
            assert (answer.status_code, answer.json["error"]) == (400, "unknown_host"), (path, host)
            assert "evil" not in answer.text
    assert browser.post("/login", headers={"Host": "evil.example"}).status_code == 400
    for path in ("/livez", "/readyz", "/healthz"):  # Machines request these paths under any host name.
        assert browser.get(path, headers={"Host": "web:7777"}).status_code == 200


def test_forwarded_host_of_a_trusted_proxy_is_used(make_arena):
    arena = make_arena(base_url="http://board.example", trusted_proxies=1)
    browser = arena.app.test_client()

    def status(host: str, forwarded: str) -> int:
        return int(browser.get("/login", headers={"Host": host, "X-Forwarded-Host": forwarded}).status_code)

    assert status("web:7777", "board.example") == 200
    assert status("board.example", "evil.example") == 400
