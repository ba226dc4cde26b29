"""Teams' submissions (pages and API): upload, list, selection, comparison, receipts."""
