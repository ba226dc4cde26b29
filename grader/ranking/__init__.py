"""Pure ranking functions: team order, competing submissions, and ranking comparison."""
