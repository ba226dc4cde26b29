"""Limits: how many submissions a team may send, daily and in all; grants of extra submissions."""
