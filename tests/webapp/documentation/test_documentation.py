"""Documentation site: chapters, links, glossary, reference, export."""

import re
from collections import Counter
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from numpydoc.docscrape import NumpyDocString

import fairboard
from tests.fixtures.statements import recorded
from webapp.documentation import __main__ as as_files
from webapp.documentation import pages
from webapp.documentation.chapters import chapters, groups
from webapp.http import parameters
from webapp.presentation import assets

ROOT = Path(__file__).parents[3]


class Page(HTMLParser):
    """Collects the links, images, anchors and headings of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []
        self.headings: list[int] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
        values = dict(attrs)
        self.links += [value for name in ("href", "src") if (value := values.get(name))]
        self.anchors += [value for value in (values.get("id"),) if value]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


@pytest.fixture
def arena(make_arena):
    """A complete test site on SQLite."""
    return make_arena()


@pytest.fixture
def client(arena) -> FlaskClient:
    client: FlaskClient = arena.app.test_client()
    return client


def test_every_link_and_anchor_has_a_target(client: FlaskClient):
    @cache
    def page(path: str) -> Page | None:
        answer = client.get(path)
        if answer.status_code >= 400:
            return None
        return Page(answer.text if answer.mimetype == "text/html" else "")

    broken = []
    for chapter in chapters().values():
        shown = page(chapter.address)
        assert shown is not None
        for link in shown.links:
            there = urlsplit(urljoin(f"http://localhost{chapter.address}", link))
            if there.netloc != "localhost":
                continue
            found = page(there.path)
            if found is None or (there.fragment and there.fragment not in found.anchors):
                broken.append(f"{chapter.name}: {link}")
    assert broken == []


@pytest.mark.parametrize("name", chapters())
def test_a_chapter_has_one_title_and_no_skipped_heading_levels(client: FlaskClient, name: str):
    page = Page(client.get(chapters()[name].address).text)
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    steps = [after - before for before, after in zip(page.headings, page.headings[1:], strict=False)]
    assert max(steps, default=0) <= 1
    assert [anchor for anchor, uses in Counter(page.anchors).items() if uses > 1] == []


def test_every_chapter_is_in_the_table_of_contents():
    listed = [chapter.name for group in groups() for chapter in group.chapters]
    assert sorted([*listed, ""]) == sorted(chapters())
    assert [group.readers for group in groups()] == [
        *("Participants", "Organizers", "Operators", "Researchers", "Developers")
    ]


def test_every_formula_is_rendered_as_mathml():
    pages_with_formulas = [name for name, chapter in chapters().items() if "<math" in chapter.html]
    assert {"scoring", "bias-audit", "reference", "analysis-reference"} <= set(pages_with_formulas)
    for name in pages_with_formulas:
        shown = re.sub(r"<(pre|code)\b.*?</\1>", "", chapters()[name].html, flags=re.DOTALL)
        assert "$" not in shown, name
        assert " style=" not in shown
        assert not re.search(r"<code>[^<]*\\\w+\{", chapters()[name].html), name


def test_no_documentation_page_queries_the_database(arena):
    client = arena.app.test_client()
    with recorded(arena.app.extensions["fairboard"].database) as statements:
        for path in ("", "/participants", "/reference", "/images/table-2.svg"):
            assert client.get(f"/docs{path}").status_code == 200
    assert statements.count == 0


def test_only_chapters_and_images_are_served(client: FlaskClient):
    for path in ("plots", "README", "images/none.svg", "images/..%2fglossary.md", "notebooks/table-2.svg"):
        assert client.get(f"/docs/{path}").status_code == 404, path
    picture = client.get("/docs/images/table-2.svg")
    assert picture.mimetype == "image/svg+xml"
    again = client.get("/docs/images/table-2.svg", headers={"If-None-Match": picture.headers["ETag"]})
    assert again.status_code == 304


def test_pictures_have_a_size_and_a_version_for_the_dark_theme(client: FlaskClient):
    page = client.get("/docs/participants").text
    (picture,) = re.findall(r"<picture>.*submission-light\.png.*</picture>", page)
    assert 'media="(prefers-color-scheme: dark)" srcset="/docs/images/submission-dark.png"' in picture
    width, height = re.findall(r' width="(\d+)" height="(\d+)" loading="lazy"', picture)[0]
    assert int(width) == 1440
    assert int(height) > 500
    diagram = client.get("/docs/architecture").text
    assert re.search(r'src="/docs/images/upload\.svg" alt="[^"]+" width="844" height="\d+"', diagram)


def test_llms_txt_lists_every_chapter_with_its_url(client: FlaskClient):
    listed = client.get("/llms.txt").text
    assert listed.startswith("# ")
    addresses = re.findall(r"\]\(http://localhost(/docs/[^)]+)\): ", listed)
    assert {*addresses, "/docs"} >= {chapter.address for chapter in chapters().values()} - {
        "/docs/analysis-reference"
    }
    assert {client.get(address).status_code for address in addresses} == {200}


def test_documentation_links_in_templates_have_targets(arena):
    templates = "".join(path.read_text() for path in (ROOT / "webapp" / "templates").rglob("*.html"))
    for page, _, anchor in re.findall(r'docs_url\("([^"]*)"(, "([^"]*)")?\)', templates):
        chapter = chapters()[page]
        assert not anchor or f'id="{anchor}"' in chapter.html
    explained = re.findall(r'glossary="([^"]*)"', templates)
    assert [term for term in explained if pages.glossary_url(term) is None] == []
    assert pages.glossary_url("Identities") == "/docs/glossary#identity"
    assert pages.glossary_url("this page") is None
    with arena.app.test_request_context():
        assert pages.docs_url("glossary", "bpsn-auc") == "/docs/glossary#bpsn-auc"
        assert pages.docs_url() == "/docs"


def test_the_reference_documents_every_public_name_of_the_metric():
    reference = chapters()["reference"]
    html = unescape(re.sub("<[^>]+>", "", reference.html))
    assert set(fairboard.__all__) <= {section.heading for section in reference.sections}
    for name in ("bias_report", "prepare", "power_mean", "MetricSettings"):
        documented = NumpyDocString(getattr(fairboard, name).__doc__ or "")
        text = html.partition(f"\n{name}\n")[2]
        for parameter in [*documented["Parameters"], *documented["Attributes"]]:
            assert f"{parameter.name} ({parameter.type})" in text.replace("`", ""), (name, parameter.name)


def test_the_exported_documentation_is_complete(tmp_path: Path):
    as_files.write(tmp_path)
    written = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.*")}
    assert len([name for name in written if name.endswith(".html")]) == len(chapters())
    assert {"index.html", "participants.html", "images/table-2.svg", "fairboard.css"} <= set(written)
    for name, path in written.items():
        page = Page(path.read_text() if name.endswith(".html") else "")
        for link in page.links:
            file, _, anchor = link.partition("#")
            if "://" not in link and not link.startswith("mailto:"):
                assert (file or name) in written, (name, link)
                assert not anchor or f'id="{anchor}"' in written[file or name].read_text(), (name, link)


def test_exporting_the_documentation_requires_no_site():
    app = Flask("webapp", static_folder=None)
    app.config[pages.LAYOUT] = "documentation/files.html"
    for module in (parameters, assets, pages):
        module.init_app(app)
    page = app.test_client().get("/docs/participants").text
    assert "<form" not in page
    assert "<script" not in page
