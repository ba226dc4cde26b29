"""Commands of organizers and administrators on a site of another machine: same words, same output."""
