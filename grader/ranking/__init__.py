"""Pure ranking functions: order of teams, counted submissions, comparison of versions."""
