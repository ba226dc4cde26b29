"""Fair play: what only organizers see of signs that a leaderboard is mined or files are copied."""
