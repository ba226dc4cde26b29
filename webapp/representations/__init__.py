"""How what a viewer may see is written, for pages and for JSON: formatting only; numbers come rounded."""
