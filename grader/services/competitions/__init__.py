"""Competitions: settings, dates, phases, metric settings, organizers, pauses, announcements."""
