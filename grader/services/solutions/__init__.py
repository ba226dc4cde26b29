"""The secret solution: intake, split, report, findings, publishing."""
