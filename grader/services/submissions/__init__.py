"""Submissions: accept an upload, final selection, duplicate files, receipts."""
