"""Set up a competition: drafts, cloning, settings file, publish, archive."""
