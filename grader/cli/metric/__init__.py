"""Commands that need no server: score, analyze, simulate, check solutions, verify receipts."""
