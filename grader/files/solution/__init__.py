"""Solution reader: column roles, labels, identities, Usage, problems."""
