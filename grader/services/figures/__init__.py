"""Figures that organizers upload for their texts: checked pictures, shown to whoever sees the competition."""
