"""Fair play: signs of probing and of copied files, for organizers."""
