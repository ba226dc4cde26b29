"""Built documentation: links, search index, content security policy, pages under /docs."""

import json
import re
from pathlib import Path

import pytest

from webapp.documentation import build, docs_url

ROOT = Path(__file__).parents[3]
LINK = re.compile(r'(?:href|src|srcset)="([^"]+)"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("docs") / "site"
    build.build(ROOT / "docs", folder)
    return folder


def file_of(site, path):
    name = path.removeprefix("/docs").strip("/") or "index"
    return site / (name if "." in name else f"{name}.html")


def test_every_link_and_anchor_has_a_target(site):
    broken = []
    for page in site.glob("*.html"):
        for link in LINK.findall(page.read_text()):
            path, _, anchor = link.partition("#")
            if path and not path.startswith("/docs"):
                continue
            file = file_of(site, path) if path else page
            if not file.is_file() or (anchor and f'id="{anchor}"' not in file.read_text()):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_every_chapter_is_in_the_list_of_chapters(site):
    listed = set(re.findall(r'<li><a href="/docs/([\w-]+)"', (site / "index.html").read_text()))
    assert {path.stem for path in site.glob("*.html")} == listed | {"index"}


def test_pages_have_no_inline_script_or_style_and_formulas_as_mathml(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        assert " style=" not in text and "<style" not in text and not re.search(r"<script[^>]*>[^<]", text)
        assert text.count("<h1") == 1, page.name
    assert "<math" in (site / "scoring.html").read_text()


def test_the_search_index_has_every_section_with_its_text(site):
    index = json.loads((site / "search.json").read_text())
    (found,) = [each for each in index if each["url"] == "/docs/client#exit-codes"]
    assert "usage error" in found["text"]
    assert all(file_of(site, each["url"].partition("#")[0]).is_file() for each in index)


def test_the_site_serves_only_the_built_folder(arena, site, monkeypatch):
    monkeypatch.setattr("webapp.documentation.SITE", site)
    browser = arena.app.test_client()
    for path in ("", "/participants", "/search.json", "/notebooks/from-data-to-rank.ipynb"):
        assert browser.get(f"/docs{path}").status_code == 200, path
    for path in ("/none", "/images/..%2f..%2fapi.md", "/notebooks", "/../build.py"):
        assert browser.get(f"/docs{path}").status_code == 404, path


def test_documentation_links_in_templates_have_targets(site):
    templates = "".join(path.read_text() for path in (ROOT / "webapp" / "templates").rglob("*.html"))
    for chapter, _, anchor in re.findall(r'docs_url\("([^"]*)"(, "([^"]*)")?\)', templates):
        page = file_of(site, docs_url(chapter)).read_text()
        assert not anchor or f'id="{anchor}"' in page, (chapter, anchor)
