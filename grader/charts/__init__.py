"""Inline SVG charts without inline styles, as required by a strict content security policy."""
