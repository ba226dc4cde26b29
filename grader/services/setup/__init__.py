"""Setting a competition up: drafts, cloning, the settings file, publishing and archiving."""
