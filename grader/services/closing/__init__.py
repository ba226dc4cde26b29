"""The close: settle, reveal, finalize, verify; the checklist of what is missing."""
