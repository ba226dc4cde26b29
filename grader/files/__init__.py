"""Readers for submissions and solutions: from bytes to arrays or a list of problems."""

from grader.files.labelled_predictions import read_label_predictions
from grader.files.reading.problems import FileProblem, FileRejected, Note
from grader.files.reading.row_ids import RowIds
from grader.files.solution.columns import Categories
from grader.files.solution.public_table import PublicTable, read_public_table
from grader.files.solution.roles import ColumnGuess, ColumnRole, ColumnRoles, WrongColumns, with_named
from grader.files.solution.solution import Solution, guess_columns, read_solution
from grader.files.submission.submission import (
    SubmissionFile,
    read_submission,
    submission_size_cap,
    submission_upload_cap,
    write_sample_submission,
)

__all__ = [
    "Categories",
    "ColumnGuess",
    "ColumnRole",
    "ColumnRoles",
    "FileProblem",
    "FileRejected",
    "Note",
    "PublicTable",
    "RowIds",
    "Solution",
    "SubmissionFile",
    "WrongColumns",
    "guess_columns",
    "read_label_predictions",
    "read_public_table",
    "read_solution",
    "read_submission",
    "submission_size_cap",
    "submission_upload_cap",
    "with_named",
    "write_sample_submission",
]
