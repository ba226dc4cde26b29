"""Texts: plain text from people, wording of messages, and CSV that is safe in spreadsheets."""
