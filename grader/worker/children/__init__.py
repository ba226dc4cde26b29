"""Child processes with resource limits: file checks, formatting, scoring, organizers' jobs."""
