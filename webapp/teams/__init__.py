"""Pages to join a competition and of teams: members, invitations, mergers."""
