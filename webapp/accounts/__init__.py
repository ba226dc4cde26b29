"""Pages of accounts: log in, sign up, own account, administrators' list of people."""
