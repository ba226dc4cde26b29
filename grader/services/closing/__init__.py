"""Closing a competition: checklist, settling, reveal."""
