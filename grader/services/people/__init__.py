"""Names of users and teams: rules and look-alikes; find a person by name."""
