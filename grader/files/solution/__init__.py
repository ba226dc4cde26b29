"""Solution reader: column roles, labels, identities, Usage and problems."""
