"""Bias analyses from the papers, besides the score; need only NumPy.

Each module holds one idea; all of them start from `Rows`.
"""

from grader.metrics.analysis.rows import Background, Rows

__all__ = ["Background", "Rows"]
