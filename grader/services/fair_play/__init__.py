"""Fair play analysis for organizers: signs of probing and of copied files."""
