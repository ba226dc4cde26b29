"""Submissions: accepting an upload, selection, identical files, receipts."""
