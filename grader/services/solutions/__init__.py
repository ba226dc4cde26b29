"""Secret solutions: upload, checks, report, split, corrections, publication."""
