"""Names of people and teams, finding a person, user."""
