"""Documentation chapters, grouped by reader and loaded once per process."""

import json
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from markupsafe import Markup

from webapp.documentation import reference
from webapp.documentation.rendering import (
    ChapterSection,
    anchor_of,
    name_rows,
    put_into_sections,
    render,
    terms_of,
)

ADDRESS = "/docs"
SHIPPED = Path(__file__).parent / "shipped"  # location of the chapters in a wheel
DOCS = SHIPPED if SHIPPED.is_dir() else Path(__file__).parents[2] / "docs"
CONTENTS, GLOSSARY = "README.md", "glossary.md"
MADE: dict[str, tuple[str, Callable[[], str]]] = {  # generated chapters, by the file to which links point
    "../fairboard/__init__.py": ("reference", partial(reference.of_names, "fairboard")),
    "../grader/metrics/bias/analysis/__init__.py": (
        "analysis-reference",
        partial(reference.of_modules, "grader.metrics.bias.analysis"),
    ),
}
GROUP = re.compile(r"^## (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)")
ROW = re.compile(r"^\| ([^|]+) \|", re.MULTILINE)
IMAGE = re.compile(rf'<img src="{ADDRESS}/(images/[^"]+)"( alt="[^"]*") />')
SIZE = re.compile(rb' width="(\d+)" height="(\d+)"')


@dataclass(frozen=True)
class Chapter:
    """One page of the documentation."""

    name: str
    html: Markup
    sections: tuple[ChapterSection, ...]

    @property
    def title(self) -> str:
        """The chapter's title, which is its only first-level heading."""
        return self.sections[0].heading

    @property
    def address(self) -> str:
        """The URL of the chapter's page."""
        return address(self.name)


@dataclass(frozen=True)
class ChapterGroup:
    """The chapters for one kind of reader."""

    readers: str
    chapters: tuple[Chapter, ...]


def address(name: str, anchor: str = "") -> str:
    """Return the URL of a chapter or an anchor in it; the table of contents has an empty name."""
    return f"{ADDRESS}{name and f'/{name}'}{anchor and f'#{anchor}'}"


@cache
def _terms() -> dict[str, str]:
    """Return the anchor of each term in the glossary's first table."""
    cells = ROW.findall(_text(GLOSSARY).partition("\n## ")[0])[1:]  # skip the table header
    return {term.lower(): anchor_of(term) for cell in cells for term in terms_of(cell)}


def anchor_of_term(word: str) -> str | None:
    """Return a term's glossary anchor, or None; accepts upper and lower case, singular and plural."""
    word = word.lower()
    singular = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub("ies$", "y", word))
    return next((_terms()[each] for each in singular if each in _terms()), None)


@cache
def chapters() -> dict[str, Chapter]:
    """Return all chapters by name; the table of contents has an empty name."""
    return {name: _chapter(path, name) for path, name in _names().items()}


@cache
def groups() -> tuple[ChapterGroup, ...]:
    """Return the chapters by reader, in the order of the table of contents, each only once."""
    _, *parts = GROUP.split(_text(CONTENTS))
    found, placed = [], {""}
    for readers, body in zip(parts[::2], parts[1::2], strict=True):
        linked = dict.fromkeys(_names()[_within(CONTENTS, target)] for target in LINK.findall(body))
        found.append(ChapterGroup(readers, tuple(chapters()[name] for name in linked if name not in placed)))
        placed |= linked.keys()
    return tuple(found)


@cache
def files() -> dict[str, Path]:
    """Return the images, notebooks and examples by their path within docs/."""
    found = (*DOCS.glob("images/*"), *DOCS.glob("notebooks/*.ipynb"), *DOCS.glob("examples/*.py"))
    return {path.relative_to(DOCS).as_posix(): path for path in found}


@cache
def _names() -> dict[str, str]:
    """Return the name of each chapter by its file's path relative to docs/."""
    found = sorted([*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.ipynb")])
    names = {path.relative_to(DOCS).as_posix(): path.stem for path in found}
    return names | {CONTENTS: ""} | {path: name for path, (name, _) in MADE.items()}


def contents(site: str) -> str:
    """Return the table of contents as Markdown with absolute URLs."""
    text = _text(CONTENTS).replace("\\\n  ", ": ")
    return re.sub(r"\]\(([^)]+)\)", lambda link: f"]({site}{_address_in(CONTENTS, link[1])})", text)


def _chapter(path: str, name: str) -> Chapter:
    explain = {CONTENTS: put_into_sections, GLOSSARY: name_rows}.get(path)
    html, sections = render(_text(path), address_of=partial(_address_in, path), explain=explain)
    return Chapter(name, Markup(IMAGE.sub(_picture, html)), sections)  # noqa: S704 - our own chapters


def _picture(image: re.Match[str]) -> str:
    """Return an image with its size, which prevents layout shift, and with its version for the dark theme."""
    name, alt = image.groups()
    width, height = _size(files()[name].read_bytes())
    img = f'<img src="{ADDRESS}/{name}"{alt} width="{width}" height="{height}" loading="lazy">'
    dark = name.replace("-light.", "-dark.")
    if dark == name or dark not in files():
        return img
    source = f'<source media="(prefers-color-scheme: dark)" srcset="{ADDRESS}/{dark}">'
    return f"<picture>{source}{img}</picture>"


def _size(content: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG or SVG image."""
    if content.startswith(b"\x89PNG"):
        return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    found = SIZE.search(content)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _text(path: str) -> str:
    if path in MADE:
        return MADE[path][1]()
    text = (DOCS / path).read_text(encoding="utf-8")
    return _notebook(text) if path.endswith(".ipynb") else text


def _notebook(text: str) -> str:
    """Return a notebook's cells as Markdown with fenced code, without outputs."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(text)["cells"]]
    return "\n\n".join(
        source if kind == "markdown" else f"```python\n{source}\n```" for kind, source in cells
    )


def _address_in(path: str, target: str) -> str:
    """Return the URL of a link's target in a file: a chapter, a file, or another site."""
    file, _, anchor = target.partition("#")
    if not file or "://" in file or file.startswith(("mailto:", "/")):
        return target
    name = _names().get(_within(path, file))
    return address(_within(path, file) if name is None else name, anchor)


def _within(path: str, target: str) -> str:
    """Resolve a file-relative link to a path relative to docs/."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
