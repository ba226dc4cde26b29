"""Competition texts in the browser and over the API: preview, figures, formulas."""

import html
import io
import re

import pytest

from tests.services.competitions.test_pictures import png

HERE = "/competitions/toxicity/organize"
PICTURE = '![A plot](plot.png "Scores")'


@pytest.fixture
def root(arena):
    """An administrator with a draft."""
    root = arena.person("Root", is_admin=True)
    root.post("/competitions/new", {"title": "Toxicity", "slug": "toxicity"})
    return root


def form(root, **changed):
    page = root.browser.get(f"{HERE}/settings").text
    return {"version": re.findall(r'name="version" value="(\w+)"', page)[0], **changed}


def save(root, **changed):
    return root.post(f"{HERE}/settings/save", form(root, **changed))


def upload(root, data, name="plot.png", **entered):
    return root.post(f"{HERE}/figures", form(root, **entered) | {"file": (io.BytesIO(data), name)})


def test_a_preview_matches_the_published_page_and_stores_nothing(root):
    answer = save(root, overview="# Hi\n$x^2$", act="preview")
    assert answer.status_code == 200
    panel = answer.text[answer.text.index('id="overview-preview"') :]
    assert "<h2>Hi</h2>" in panel and "<msup>" in panel
    assert "# Hi" in answer.text
    assert "# Hi" not in root.browser.get(f"{HERE}/settings").text
    piece = root.post(f"{HERE}/preview", {"text": "**bold** $\\foo$"})
    assert "<strong>bold</strong>" in piece.text and "<html" not in piece.text
    assert "foo&#39; cannot be rendered" in piece.text


def test_uploading_and_removing_a_figure_keeps_the_entered_texts(arena, root):
    answer = upload(root, png(640, 480), "My Plot.PNG", overview="![A plot](my-plot.png)")
    assert answer.status_code == 201 and "my-plot.png uploaded" in answer.text
    assert "![A plot](my-plot.png)" in answer.text  # The entered text is kept.
    save(root, overview='![A plot](my-plot.png "Scores")')
    page = root.browser.get("/competitions/toxicity").text
    [source] = re.findall(
        r'<figure><img src="([^"]+)" alt="A plot" width="640" height="480"><figcaption>Scores<', page
    )
    shown = root.browser.get(html.unescape(source))
    assert (shown.mimetype, shown.data) == ("image/png", png(640, 480))
    assert shown.headers["X-Content-Type-Options"] == "nosniff"
    assert shown.cache_control.private and not shown.cache_control.public
    gone = root.post(f"{HERE}/figures/my-plot.png/remove-figure", form(root, overview="Kept"))
    assert "Kept" in gone.text
    assert root.browser.get(html.unescape(source)).status_code == 404
    page = html.unescape(root.browser.get(f"{HERE}/settings").text)
    assert "The figure 'my-plot.png' does not exist" in page


def test_figures_are_hidden_from_users_who_cannot_see_the_competition(arena, root):
    upload(root, png(2, 2))
    address = "/competitions/toxicity/figures/plot.png"
    bob = arena.person("Bob")
    assert bob.browser.get(address).status_code == 404
    assert arena.app.test_client().get(address).status_code == 404
    assert bob.post(f"{HERE}/figures").status_code == 404
    assert bob.post(f"{HERE}/preview", {"text": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("data", "name", "status", "told"),
    [
        (b"<svg onload='alert(1)'/>" + bytes(50), "a.svg", 409, "PNG, JPEG or WebP"),
        (b"", "", 400, "No file was received"),
    ],
)
def test_an_invalid_figure_is_rejected_and_the_entered_values_are_kept(root, data, name, status, told):
    answer = upload(root, data, name, overview="Kept")
    assert answer.status_code == status and told in answer.text
    assert "Kept" in answer.text
