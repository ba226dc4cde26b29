"""Uploads that another program announces first, sends in parts, and uses in a later request."""
