"""Bias analyses from the literature that do not affect the score; require only NumPy.

Each module contains one analysis. Most modules operate on `Rows` or `Annotations`.
"""

from fairboard.bias.analysis.rows import Background, Rows

__all__ = ["Background", "Rows"]
