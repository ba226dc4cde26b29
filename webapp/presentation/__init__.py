"""How pages show things: formats, Markdown, charts, names of the score's terms, static files."""
