"""Competitions: settings, phases, metric settings, organizers, pauses, announcements."""
