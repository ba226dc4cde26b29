"""Pagination: pages past the end, cursors, and errors for invalid page numbers."""

import pytest

HERE = "/competitions/toxicity"
API = "/api/v1"
LISTS = [f"{API}{HERE}/leaderboard{query}" for query in ("", "?split=private", "?sort=team", "?q=n")]
PAGES = (
    "/",
    f"{HERE}/leaderboard",
    f"{HERE}/leaderboard?q=n&sort=team&order=asc",
    f"{HERE}/leaderboard/private",
)
NO_PAGES = ("x", "0", "-1", "1.5", "1e3", "2147483648", "9" * 5000, "1%00")


@pytest.fixture
def people(make_arena, database_url):
    """Ann, who has a submission in a finished competition, and an administrator."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    ann, root = arena.person("Ann"), arena.person("Root", is_admin=True)
    arena.submit(ann, arena.truth.predictions())
    arena.score_all()
    arena.reveal()
    return ann, root


def with_page(address, page):
    return f"{address}{'&' if '?' in address else '?'}page={page}"


def test_an_invalid_page_number_returns_400_and_names_the_parameter(people):
    ann, root = people
    api = ann.arena.app.test_client()
    for page in NO_PAGES:
        answer = api.get(with_page(LISTS[0], page), headers=ann.bearer)
        assert (answer.status_code, answer.json.get("error")) == (400, "unreadable"), page
        assert answer.json["message"].startswith("`page` must be "), page
    for address in PAGES:
        assert root.browser.get(with_page(address, "x")).status_code == 400, address


def test_a_page_past_the_end_shows_a_message_and_links_to_the_last_page(people):
    for address in PAGES:
        browser = people[1].browser
        past = browser.get(with_page(address, 99))
        assert past.status_code == 200, address
        assert "Page 99 does not exist. The list has 1 page." in " ".join(past.text.split()), address
        link = past.text.partition('">Go to the last page')[0].rpartition('href="')[2].replace("&amp;", "&")
        last = browser.get(link)
        assert "does not exist" not in last.text, link
        assert last.text.count("<li>") + last.text.count("<tr") > 1, link
        assert link.partition("?")[0] == address.partition("?")[0]
        assert all(asked in link for asked in address.partition("?")[2].split("&")), link


def test_an_api_list_neither_repeats_nor_skips_rows_while_rows_are_added(people):
    ann, _ = people
    arena, api = ann.arena, ann.arena.app.test_client()
    arena.competition(slug="second")
    numbers = [arena.submit(ann, arena.truth.predictions(seed=seed), slug="second") for seed in range(5)]
    address: str | None = f"{API}/competitions/second/submissions?per_page=2"
    seen: list[int] = []
    while address:
        answer = api.get(address, headers=ann.bearer).json
        seen += [each["id"] for each in answer["submissions"]]
        address = answer["next"]
        arena.submit(ann, arena.truth.predictions(seed=100 + len(seen)), slug="second")
    assert seen == sorted(numbers, reverse=True)


def test_a_cursor_list_rejects_page_numbers_and_invalid_cursors(people):
    ann, _ = people
    api = ann.arena.app.test_client()
    for address in (f"{API}/competitions", f"{API}{HERE}/submissions"):
        for value in ("x", "-1", "1.5", "2147483648", "9" * 5000):
            answer = api.get(f"{address}?cursor={value}", headers=ann.bearer)
            assert (answer.status_code, answer.json["error"]) == (400, "unreadable"), value
            assert answer.json["message"].startswith("`cursor`"), value
        answer = api.get(with_page(address, 2), headers=ann.bearer)
        assert (answer.status_code, answer.json["message"]) == (400, "`page` is not a field of this request.")


def test_the_parts_of_a_page_are_those_of_its_operation(people):
    ann, root = people
    arena = ann.arena
    for name in ("Ben", "Jan", "Nan"):
        arena.submit(arena.person(name), arena.truth.predictions())
    address: str | None = f"{HERE}/organize/teams?q=n&per_page=2"
    parts = []
    while address:
        assert root.browser.get(address).status_code == 200
        told = root.browser.get(address, headers={"Accept": "application/json"}).json
        parts.append([each["name"] for each in told["teams"]])
        address = told["next"]
    assert parts == [["Nan", "Jan"], ["Ben", "Ann"]]
    assert "Start of the list" in root.browser.get(f"{HERE}/organize/teams?cursor=2").text
    assert root.browser.get(f"{HERE}/organize/teams?cursor=x").status_code == 400


def test_a_page_size_out_of_range_returns_400_and_names_the_parameter(people):
    ann, _ = people
    api = ann.arena.app.test_client()
    for address in (*LISTS, f"{API}/competitions", f"{API}{HERE}/submissions", f"{API}{HERE}/log"):
        query = "&" if "?" in address else "?"
        for size in ("0", "201", "-1", "x", "1.5", "true"):
            answer = api.get(f"{address}{query}per_page={size}", headers=ann.bearer)
            assert (answer.status_code, answer.json["error"]) == (400, "unreadable"), (address, size)
            assert "`per_page`" in answer.json["message"]
        for asked, size in (("", 50), (f"{query}per_page=200", 200)):
            assert api.get(address + asked, headers=ann.bearer).json["page_size"] == size, address
