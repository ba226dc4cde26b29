"""Words and patterns that the style guide excludes from texts for readers and developers."""

import ast
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest

from grader.cli import main
from grader.services.site import letters

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "CONTRIBUTING.md"
TEMPLATES = ROOT / "webapp" / "templates"
SHOWN_ATTRIBUTES = {"alt", "aria-label", "placeholder", "title"}
# Exceptions where a ruled-out word means something else: the file, the surrounding words, and the meaning
# there.
ALLOWED: dict[str, tuple[str, ...]] = {
    "grader/settings.py": ("<board@example.org>",),
    "docs/operations.md": ("<board@example.org>",),  # an address
    "grader/ranking/selection.py": ("Boards The best",),  # a class's name
}


# Rules 2 to 5, 9 and 10 of the style guide, as far as a pattern can find a violation.
START = r"(?:^|[.:;] )"
PATTERNS = {
    "a clause without a noun as the subject": (
        START
        + r"(?:What|Whatever|Who|Whom|Whose|Whoever) (?!is |are |does |do |can |may |should )[^?|]{3,160}[.|]"
    ),
    "a sentence that does not start with its subject": START + r"(?:Of (?!a )|Where )[^?|]{3,160}[.]",
    "a clause instead of a noun": r"\bwhat (?:is left|is lost|is here|talks to|was left|came|comes)\b",
    "a literary connective": (
        r", for (?:it|he|she|they|this|that|nobody|there) |\b(?:the most that|so many of|by now)\b"
    ),
    "an unusual verb": r"\b(?:is|are|was) answered\b|\b(?:come|came|comes) back as\b|\bis taken for\b",
    "an unusual word": r"\b(?:the own|submissions of today)\b",
    "code as a person": (
        r"\b(?:module|function|page|server|code|process|test|class|program|worker|site|browser|client|database)s?"
        r" (?:knows?|speaks?|says?|tells?|learns?|believes?)\b"
    ),
}


def ruled_out() -> dict[str, str]:
    """Return the words that the guide rules out, each with the word to use."""
    text = GUIDE.read_text()
    table = text[text.index("### Words to avoid") : text.index("## Add a feature")]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, flags=re.MULTILINE)[1:]
    return {word: use for use, words in rows for word in re.findall(r"`([^`]+)`", words)}


class ShownText(HTMLParser):
    """Collects the text of a page, and the attributes that are displayed or read out."""

    def __init__(self):
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]):
        self.parts += [value for name, value in attrs if name in SHOWN_ATTRIBUTES and value]

    def handle_data(self, data: str):
        self.parts.append(data)


def of_template(path: Path) -> Iterator[str]:
    """Yield the words of a template, including those in its expressions' strings."""
    text = re.sub(r"\{#.*?#\}", " ", path.read_text(), flags=re.DOTALL)
    code = r"\{\{.*?\}\}|\{%.*?%\}"
    for expression in re.findall(code, text, flags=re.DOTALL):
        yield from (quoted for quoted in re.findall(r"\"([^\"]*)\"", expression) if " " in quoted)
    page = ShownText()
    page.feed(re.sub(code, " ", text, flags=re.DOTALL))
    yield from page.parts


def of_chapter(path: Path) -> Iterator[str]:
    """Yield the prose of a Markdown file, without code, URLs and the table of words to avoid."""
    text = path.read_text().partition("### Words to avoid")[0]
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^ {4,}(?![-*] ).*$", "", text, flags=re.MULTILINE) if path.parent.name == "docs" else text
    text = re.sub(r"`[^`]*`", "``", text)
    yield re.sub(r"\]\([^)]*\)", "]", text)


@lru_cache(1)
def nodes_of(path: Path) -> list[ast.AST]:
    """Return the nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text())))


def of_module(path: Path) -> Iterator[str]:
    """Yield the sentences in a module's strings (errors, e-mails, messages, reports), except docstrings."""
    bare = {id(node.value) for node in nodes_of(path) if isinstance(node, ast.Expr)}
    for node in nodes_of(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value if node.value.count(" ") > 1 else ""


def for_developers(path: Path) -> Iterator[str]:
    """Yield the paragraphs of a module's docstrings, and its comments, without parsing the module."""
    text = path.read_text()
    for match in re.finditer(r'"""(.*?)"""', text, flags=re.DOTALL):
        if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" r"):
            yield from match[1].split("\n\n")
    for block in re.findall(r"(?:^ *# .*\n)+|(?<=  )# .*", text, flags=re.MULTILINE):
        yield re.sub(r"^ *# ", "", block, flags=re.MULTILINE)


def of_commands(command: click.Command, name: str = "fairboard") -> Iterator[tuple[str, str]]:
    """Yield the help texts of a command, its options and its subcommands."""
    yield name, command.help or ""
    for parameter in command.params:
        yield f"{name} {parameter.name}", getattr(parameter, "help", None) or ""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from of_commands(found, f"{name} {below}")


@cache
def everything() -> list[tuple[str, str]]:
    """Return every text that people read, with its location."""
    return list(_everything())


def _everything() -> Iterator[tuple[str, str]]:
    for path in sorted(TEMPLATES.rglob("*.html")):
        yield from ((str(path.relative_to(ROOT)), text) for text in of_template(path))
    for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("benchmarks/*.md")]:
        yield from ((str(path.relative_to(ROOT)), text) for text in of_chapter(path))
    for folder in ("fairboard", "grader", "webapp", "migrations", "benchmarks", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            is_shipped = folder in ("fairboard", "grader", "webapp")
            texts = [*for_developers(path), *(of_module(path) if is_shipped else ())]
            yield from ((str(path.relative_to(ROOT)), text) for text in texts)
    yield "letters.toml", re.sub("{{.*?}}|{%.*?%}", "…", letters.TEXTS.read_text())
    yield from of_commands(main)


def test_no_text_uses_a_word_that_the_guide_rules_out():
    uses = {word.lower(): use.strip() for word, use in ruled_out().items()}
    words = re.compile(rf"\b(?:{'|'.join(map(re.escape, uses))})\b", flags=re.IGNORECASE)
    found = []
    for place, text in everything():
        for match in words.finditer(text):
            around = " ".join(text[max(match.start() - 40, 0) : match.end() + 30].split())
            if not any(allowed in around for allowed in ALLOWED.get(place, ())):
                found.append(f"“{match[0]}” (say {uses[match[0].lower()]}) in {place}: … {around} …")
    assert not found, "\n".join(found)


def test_no_text_has_a_pattern_that_the_guide_excludes():
    found = [
        f"{place}: {kind}: {match[0]}"
        for place, text in everything()
        for kind, pattern in PATTERNS.items()
        for match in re.finditer(pattern, " ".join(text.split()))
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_still_needed():
    for place, phrases in ALLOWED.items():
        shown = " ".join(" ".join(text.split()) for at, text in everything() if at == place)
        assert [phrase for phrase in phrases if phrase not in shown] == []


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ('<p class="notice">A {# notice #} message</p>', ["A message"]),
        ('<p title="A notice">{{ "a notice of " ~ name }}</p>', ["a notice of", "A notice"]),
    ],
)
def test_the_words_of_a_page_are_those_that_a_reader_sees(tmp_path: Path, template: str, words: list[str]):
    path = tmp_path / "page.html"
    path.write_text(template)
    shown = [" ".join(text.split()) for text in of_template(path)]
    assert [text for text in shown if text] == words


def test_a_chapters_code_is_not_read(tmp_path: Path):
    path = tmp_path / "docs" / "chapter.md"
    path.parent.mkdir()
    path.write_text("A word, `notice`, and [a link](notice.md).\n\n    notice\n")
    assert "notice" not in "".join(of_chapter(path))
