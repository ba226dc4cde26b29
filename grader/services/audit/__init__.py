"""The audit log: who did what, read by organizers and in the public log."""
