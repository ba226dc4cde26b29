"""Close of a competition: settle, reveal, finalize and verify; its checklist."""
