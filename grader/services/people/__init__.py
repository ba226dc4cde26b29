"""Names of users and teams."""
