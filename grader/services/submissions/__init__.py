"""Submissions: uploads, final selection, duplicate files, receipts."""
