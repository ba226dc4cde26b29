"""The Jigsaw unintended bias metric, and analyses of bias in `analysis`."""
