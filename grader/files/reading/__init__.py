"""Reading a file: bytes, containers, text, numbers, ids, and where a problem is."""
