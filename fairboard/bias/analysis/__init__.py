"""Bias analyses from the literature, as functions that return pandas data frames.

`Data` contains labels and identities. Functions that measure a model take the predictions as the second
argument.
"""

from fairboard.bias.analysis.data import Background, Data

__all__ = ["Background", "Data"]
