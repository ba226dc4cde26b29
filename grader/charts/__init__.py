"""Charts as inline SVG: classes and attributes only, as a strict CSP requires."""
