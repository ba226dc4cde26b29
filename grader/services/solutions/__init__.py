"""Secret solutions: upload, checks, reports, splits, corrections and publication."""
