"""Commands that need no server: score, analyze, check solutions, verify receipts."""
