"""A notebook as Markdown: its texts, and its code in fences."""

import json


def markdown(notebook: str) -> str:
    """Return the cells of a notebook one after the other, without their outputs."""
    cells = json.loads(notebook)["cells"]
    return "\n\n".join(_cell(cell["cell_type"], "".join(cell["source"])) for cell in cells)


def _cell(kind: str, source: str) -> str:
    return source if kind == "markdown" else f"```python\n{source}\n```"
