"""Inline SVG charts styled with classes and attributes only, as a strict CSP requires."""
