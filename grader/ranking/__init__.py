"""Pure ranking functions: team order, competing submissions, comparison of versions."""
