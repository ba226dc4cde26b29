"""Text for people: plain text, wording, and CSV that spreadsheets open safely."""
