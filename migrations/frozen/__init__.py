"""Rules as they were when a migration was written, so that it does the same for ever."""
