"""Child processes with limits: they check files, format texts, score, and do organizers' jobs."""
