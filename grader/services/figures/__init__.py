"""Figures in organizers' texts: checked images, shown to people who see the competition."""
