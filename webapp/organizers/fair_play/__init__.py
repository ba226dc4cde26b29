"""Organizers' page Fair play: signs of probing, similar files."""
