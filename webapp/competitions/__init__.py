"""Public pages of a competition: list, Home, Evaluation, Data, public log."""
