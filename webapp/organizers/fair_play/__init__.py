"""Organizers' Fair play page: signs of probing, similar files, shared logins."""
