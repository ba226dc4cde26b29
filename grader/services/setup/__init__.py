"""Setup of competitions: drafts, copies, settings files, publication and archiving."""
