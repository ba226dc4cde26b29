"""What the papers on unintended bias measure besides the score. Needs NumPy and nothing else.

Each module holds one idea; all of them start from `Rows`.
"""

from grader.metrics.analysis.rows import Background, Rows

__all__ = ["Background", "Rows"]
