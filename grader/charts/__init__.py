"""Draw charts as inline SVG: classes and attributes only, so that a strict policy lets them through."""
