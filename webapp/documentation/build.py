"""Build the documentation as static pages in this package: `python -m webapp.documentation.build`."""

import json
import posixpath
import re
import shutil
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from grader.prose.markdown import convert_formula
from webapp.documentation import SITE, URL

PROJECT = Path(__file__).parents[2]
CONTENTS = "README.md"
GROUP = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w-]+\.md)\)")
TABLE = '<div class="scroll" role="region" aria-label="Table" tabindex="0"><table>\n'


@dataclass(frozen=True)
class Chapter:
    """A page: its name in URLs, title, HTML, and the text of each section by anchor and heading."""

    name: str
    title: str
    html: str
    sections: list[tuple[str, str, str]]


def build(docs: Path, site: Path) -> None:
    """Write a page for each chapter, the files to which they link, and the search index."""
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for folder in ("images", "notebooks", "examples"):
        shutil.copytree(docs / folder, site / folder, ignore=shutil.ignore_patterns("__pycache__"))
    chapters = {path.name: _chapter(path) for path in sorted(docs.glob("*.md"))}
    _, *parts = GROUP.split((docs / CONTENTS).read_text(encoding="utf-8"))
    groups = [
        (readers, [chapters[name] for name in dict.fromkeys(LINK.findall(body))])
        for readers, body in zip(parts[::2], parts[1::2], strict=True)
    ]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PROJECT / "webapp" / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("documentation/page.html")
    for chapter in chapters.values():
        page = template.render(chapter=chapter, groups=groups, url=URL)
        (site / f"{chapter.name or 'index'}.html").write_text(page, encoding="utf-8")
    index = [
        {"url": f"{_url(each.name)}#{anchor}", "title": each.title, "heading": heading, "text": text}
        for each in chapters.values()
        for anchor, heading, text in each.sections
    ]
    (site / "search.json").write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


def _chapter(path: Path) -> Chapter:
    tokens = MARKDOWN.parse(path.read_text(encoding="utf-8"))
    sections: list[tuple[str, str, str]] = []
    words: list[str] = []
    for token, following in pairwise([*tokens, Token("", "", 0)]):
        if token.type == "heading_open":
            heading = _text(following)
            anchor = anchor_of(heading)
            token.attrs["id"] = anchor
            words = []
            sections.append((anchor, heading, ""))
        elif token.type == "inline":
            words.append(_text(token))
            sections[-1] = (*sections[-1][:2], " ".join(words))
        for child in token.children or ():
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name:
                child.attrs[name] = _address(str(child.attrs[name]))
    html = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    return Chapter("" if path.name == CONTENTS else path.stem, sections[0][1], html, sections)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, in the style of GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _text(token: Token) -> str:
    return "".join(" " if each.type == "softbreak" else each.content for each in token.children or ())


def _url(name: str) -> str:
    return f"{URL}/{name}" if name else URL


def _address(target: str) -> str:
    """Return the URL of a link's target in a chapter."""
    file, mark, anchor = target.partition("#")
    if not file or "://" in file or file.startswith(("mailto:", "/")):
        return target
    file = posixpath.normpath(file)
    name = "" if file == CONTENTS else file.removesuffix(".md")
    return f"{_url(name)}{mark}{anchor}"


def _formula(latex: str, options: dict[str, bool]) -> str:
    """Return a formula as MathML; raise ValueError."""
    return convert_formula(latex.strip(), is_block=options["display_mode"])


def _image(_self: object, tokens: list[Token], place: int, *_: object) -> str:
    """Return an image, with its version for the dark theme if it has one."""
    source, alt = str(tokens[place].attrs["src"]), escape(tokens[place].content)
    image = f'<img src="{source}" alt="{alt}" loading="lazy">'
    dark = source.replace("-light.", "-dark.")
    if dark == source:
        return image
    return f'<picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">{image}</picture>'


MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, renderer=_formula)
)
MARKDOWN.add_render_rule("image", _image)
MARKDOWN.add_render_rule("table_open", lambda *_: TABLE)
MARKDOWN.add_render_rule("table_close", lambda *_: "</table></div>\n")

if __name__ == "__main__":
    build(PROJECT / "docs", SITE)
