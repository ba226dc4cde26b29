"""The organizers' pages of a competition."""
