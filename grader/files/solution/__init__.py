"""A solution file: roles of its columns, labels, identities, usage, and everything that is wrong."""
