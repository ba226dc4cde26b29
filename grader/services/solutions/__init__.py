"""Secret solutions: upload, checks, reports, splits, corrections, publication."""
