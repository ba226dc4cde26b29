"""Competitions: settings, phases, drafts, organizers, pauses, data files, announcements."""
