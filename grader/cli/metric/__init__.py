"""Commands on files that need no server: score, analyze, check a solution, verify a receipt."""
