"""Teams: joining, members, invitations, mergers, names."""
