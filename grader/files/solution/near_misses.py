"""Columns that would be identities except for a few bad values, and their lines."""

from dataclasses import dataclass

from grader.files.reading.problems import Note, Problem
from grader.files.solution.column_roles import ColumnRole
from grader.text.wording import quoted


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A column that would have a role but for a few of its values.

    Attributes
    ----------
    name : str
    role : ColumnRole
        An identity or another label.
    fitting : int
        How many values are in 0..1, blanks aside.
    problems : tuple of Problem
        What the others are, with their lines.
    """

    name: str
    role: ColumnRole
    fitting: int
    problems: tuple[Problem, ...]

    @property
    def sentence(self) -> str:
        """What happened to the column and why, in words."""
        faults = " ".join(problem.message for problem in self.problems)
        article = "an" if self.role is ColumnRole.IDENTITY else "another"
        role = "identity" if self.role is ColumnRole.IDENTITY else "label"
        return f"The column {quoted(self.name)} was not taken as {article} {role}. {faults}"

    @property
    def note(self) -> Note:
        """The same as a remark on the file."""
        count = sum(problem.count for problem in self.problems)
        return Note("left_out_column", self.sentence, self.problems[0].line, count)
