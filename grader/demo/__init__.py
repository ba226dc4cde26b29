"""The demo competition: sentences of our own, honest models as teams, and an independent check."""
