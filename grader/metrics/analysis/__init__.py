"""Bias analyses from the papers, in addition to the score; they need only NumPy.

Each module contains one analysis. All of them start from `Rows`.
"""

from grader.metrics.analysis.rows import Background, Rows

__all__ = ["Background", "Rows"]
