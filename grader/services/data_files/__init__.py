"""Data files: adding them, looking through them for what gives the truth away, giving them out."""
