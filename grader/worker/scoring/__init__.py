"""Score submissions in a process with limits: claim a job, compute the score, record it."""
