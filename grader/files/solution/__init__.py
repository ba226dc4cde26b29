"""Read a solution file: column roles, labels, identities, Usage, and its problems."""
