"""Documentation: a command that builds the chapters in docs/ as static pages, and their URLs."""
