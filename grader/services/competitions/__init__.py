"""Competitions: settings, phases, metric settings, organizers, pauses and announcements."""
