"""Organizers' rescoring pages: versions, difference, publication, rollback."""
