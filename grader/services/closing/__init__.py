"""Closing a competition: checklist, settling, reveal, final standings, verification."""
