"""The grader: metric, files, leaderboard, jobs. No web in here."""
