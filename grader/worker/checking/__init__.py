"""Check a file at upload, in a process with limits: does it have problems, before a submission is made."""
