"""`make pictures`: screenshots of the running demo for README.md and the chapters."""

import base64
import contextlib
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page

from grader.client import Client
from grader.demo import run
from grader.demo.corpus import IDENTITY_WORDS
from grader.demo.run import SLUG, Demo
from grader.settings import load
from tests.browser import pictures
from tests.browser.pictures import MODES, STEPS, THEMES, Picture

pytestmark = pytest.mark.browser
TEAM, OTHERS = "newcomer", ("words", "blend", "biased")
PAGE_WIDTH, SCALE, WIDEST, COLORS = 960, 1.5, 1440, 128
# The second file of the worked example: the starter script with word pairs and masked identity words.
LEARNS = "make_pipeline(TfidfVectorizer()"
MASKS = f"""import re
words = re.compile(r"\\b({"|".join(word for words in IDENTITY_WORDS.values() for word in words)})\\b")
def mask(text):
    return words.sub("person", text.lower())
model = make_pipeline(TfidfVectorizer(ngram_range=(1, 2), preprocessor=mask)"""
PAPERS = {
    "light": {"ink": "#1f2328", "paper": "#ffffff", "edge": "#d0d7de"},
    "dark": {"ink": "#e6edf3", "paper": "#0d1117", "edge": "#30363d"},
}
SHEET = """
<body style="margin:0; font:600 22px/1.3 system-ui, sans-serif; color:{ink}; background:{paper}">
<div style="display:flex; gap:24px; padding:16px; width:max-content">{figures}</div></body>
"""
FIGURE = """
<figure style="margin:0"><figcaption style="margin:0 0 10px 4px">{caption}</figcaption>
<img src="data:image/png;base64,{image}" style="width:{width}px; border:1px solid {edge}"></figure>
"""
# Outlines the elements and puts a numbered marker at the corner of each.
MARK = """
elements => elements.forEach((element, index) => {
  const box = element.getBoundingClientRect();
  const mark = document.createElement("b");
  mark.textContent = index + 1;
  Object.assign(mark.style, {
    position: "absolute", left: `${Math.max(0, box.left - 25)}px`, top: `${box.top - 1}px`,
    width: "22px", height: "22px", borderRadius: "50%", background: "#b3261e", color: "#fff", zIndex: 99,
    font: "700 13px/22px system-ui, sans-serif", textAlign: "center",
  });
  document.body.append(mark);
})
"""


@dataclass
class Stage:
    """The running demo with the worked example of the documentation."""

    demo: Demo
    ids: dict[str, int]

    def path(self, path: str) -> str:
        """Return the path of a page, with the ids of the submissions."""
        return path.format(**self.ids)

    def page(self, browser: Browser, person: str, *, width: int = PAGE_WIDTH, height: int = 900) -> Page:
        """Return a page of a new browser window with this person's session."""
        context = browser.new_context(
            base_url=self.demo.settings.own_address(),
            viewport={"width": width, "height": height},
            device_scale_factor=SCALE,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto("/login")
        page.fill("[name=name]", person)
        page.fill("[name=password]", self.demo.accounts()[person]["password"])
        page.press("[name=password]", "Enter")
        page.wait_for_url(lambda address: "/login" not in address)
        return page


@contextlib.contextmanager
def _running_demo(folder: Path) -> Iterator[Stage]:
    for name in [name for name in os.environ if name.startswith("FAIRBOARD_")]:
        del os.environ[name]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    demo = Demo(load(data_dir=folder, port=port), print)
    with run.serving(demo):
        run.set_up(demo)
        yield _stage(demo)


def _stage(demo: Demo) -> Stage:
    """Submit the files of the worked example, and create a competition for each mode; skip existing parts."""
    files = _write_example(demo)
    state = demo.folder / "stage.json"
    if not state.exists():
        with demo.client(TEAM) as client:
            first = _submit(client, files[0], "Starter script")
            second = _submit(client, files[1], "Masked identities, word pairs")
        ids = {"first": first, "second": second, "open": first}
        ids |= {mode: _create_with_mode(demo, mode, files[0]) for mode in MODES if mode != "open"}
        state.write_text(json.dumps(ids))
    return Stage(demo, json.loads(state.read_text()))


def _write_example(demo: Demo) -> tuple[Path, Path]:
    """Run the starter script, once as it is and once with masked identity words."""
    script = demo.folder / "first_submission.py"
    first, second = demo.folder / "submission.csv", demo.folder / "masked.csv"
    if not second.exists():
        subprocess.run([sys.executable, script], check=True)
        text = script.read_text()
        assert f"model = {LEARNS}" in text
        masked = demo.folder / "masked_words.py"
        masked.write_text(text.replace(f"model = {LEARNS}", MASKS).replace("submission.csv", "masked.csv"))
        subprocess.run([sys.executable, masked], check=True)
    return first, second


def _submit(client: Client, file: Path, description: str, *, competition: str = SLUG) -> int:
    sent = client.submit(file, competition=competition, description=description)
    assert client.wait(sent.id, timeout_seconds=120).status == "scored"
    return sent.id


def _create_with_mode(demo: Demo, mode: str, file: Path) -> int:
    """Create a copy of the demo with another feedback mode, and submit a file of four teams; return an id."""
    text = (demo.folder / "competition.toml").read_text()
    text = text.replace(f'slug = "{SLUG}"', f'slug = "{mode}"').replace(
        'feedback = "open"', f'feedback = "{mode}"'
    )
    settings = demo.folder / f"{mode}.toml"
    settings.write_text(text)
    demo.command("competition", "create", str(settings), "--publish")
    sent = {TEAM: file} | {name: demo.folder / f"{name}.csv" for name in OTHERS}
    ids = {}
    for team, path in sent.items():
        with demo.client(team) as client:
            ids[team] = _submit(client, path, "Starter script", competition=mode)
    return ids[TEAM]


def _write(content: bytes, path: Path):
    """Write a screenshot with few colors, and at most 1440 px wide."""
    image = Image.open(io.BytesIO(content)).convert("RGB")
    if image.width > WIDEST:
        size = (WIDEST, round(image.height * WIDEST / image.width))
        image = image.resize(size, Image.Resampling.LANCZOS)
    image.quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(path, optimize=True)


def draw(stage: Stage, browser: Browser, folder: Path, picture: Picture):
    """Take a page's screenshot in both themes, with a numbered marker at each label."""
    page = stage.page(browser, picture.person)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.goto(stage.path(picture.path), wait_until="networkidle")
        assert [value for value in picture.values if value not in page.content()] == []
        part = page.locator("main")
        elements = [
            part.get_by_text(re.compile(rf"^\s*{label}")).locator("visible=true").first
            for label in picture.labels
        ]
        handles = [element.element_handle(timeout=5000) for element in elements]
        page.evaluate(MARK, handles)
        box = part.bounding_box()
        assert box is not None
        clip = {"x": 0, "y": box["y"], "width": PAGE_WIDTH, "height": min(box["height"], picture.height)}
        _write(page.screenshot(full_page=True, clip=clip), folder / f"{picture.name}-{theme}.png")  # type: ignore[arg-type]
    page.context.close()


def draw_side_by_side(
    stage: Stage, browser: Browser, folder: Path, name: str, paths: dict[str, str], *, size: tuple[int, int]
):
    """Take the screenshots of several pages in both themes and put them next to each other."""
    width, height = size
    page = stage.page(browser, TEAM, width=width, height=height)
    shown = 1400 // len(paths)
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        figures = ""
        for caption, path in paths.items():
            page.goto(stage.path(path), wait_until="networkidle")
            image = base64.b64encode(page.screenshot()).decode()
            figures += FIGURE.format(caption=caption, image=image, width=shown, **PAPERS[theme])
        sheet = browser.new_page(viewport={"width": 1440, "height": 300})
        sheet.set_content(SHEET.format(figures=figures, **PAPERS[theme]))
        _write(sheet.locator("body > div").screenshot(), folder / f"{name}-{theme}.png")
        sheet.close()
    page.context.close()


def test_pictures_of_the_documentation(browser: Browser, tmp_path: Path):
    """Take all screenshots of the documentation from the demo."""
    folder = pictures.IMAGES
    with _running_demo(tmp_path / "site") as stage:
        draw_side_by_side(
            stage,
            browser,
            folder,
            "steps",
            {f"{number}. {caption}": path for number, (caption, path) in enumerate(STEPS.items(), start=1)},
            size=(1100, 825),
        )
        draw_side_by_side(stage, browser, folder, "modes", MODES, size=(420, 760))
        for picture in pictures.PICTURES:
            draw(stage, browser, folder, picture)
