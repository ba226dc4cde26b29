"""The organizers' pages of a competition: one module and blueprint per family."""
