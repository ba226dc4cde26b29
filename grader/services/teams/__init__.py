"""Teams: joining a competition, members, invitations, mergers, names."""
