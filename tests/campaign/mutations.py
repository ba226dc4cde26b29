"""Deliberate defects in the service that a campaign must detect.

A mutation replaces a piece of a module's source during its import, in every process whose PYTHONPATH contains
the folder `site`. Unique constraints are removed from the tables themselves.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

VARIABLE = "FAIRBOARD_CAMPAIGN_MUTATION"
SITE = Path(__file__).parent / "site"


class Mutant(NamedTuple):
    """A module, a piece of its source, and its replacement."""

    module: str
    before: str
    after: str


MUTANTS = {
    "no-sweeper": (
        Mutant("grader.worker.sweeper", "return jobs.waiting(", "return [] and jobs.waiting("),
        Mutant("grader.worker.sweeper", "= batches.unattended(", "= None and batches.unattended("),
    ),
    "no-token-check": (
        Mutant(
            "grader.services.jobs.leased_rows", ".in_(job_ids), queue.token == token, ", ".in_(job_ids), "
        ),
    ),
    "no-unique-constraint": (),
}


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        # Bypass the bytecode cache, which contains the unmodified modules.
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        for mutant in _active(fullname):
            assert source.count(mutant.before) == 1, f"{mutant} no longer matches its module's source."
            source = source.replace(mutant.before, mutant.after)
        return self.source_to_code(source.encode(), path)


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _active(name):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


def _active(module: str) -> list[Mutant]:
    return [each for each in MUTANTS.get(os.environ.get(VARIABLE, ""), ()) if each.module == module]


def install():
    """Apply the mutation named in the environment to modules that are not loaded yet."""
    sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]


def drop_unique_constraint(database):
    """Allow the table of scores to store a second result."""
    with database.engine.connect() as connection:
        if database.engine.dialect.name == "postgresql":
            for table in ("score",):
                name = f"uq_{table}_submission_id_scoring_version_id_split"
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
            connection.commit()
            return
        query = "SELECT sql FROM sqlite_master WHERE name = 'score'"
        before = connection.exec_driver_sql(query).scalar_one()
        after, count = re.subn(r",\s*CONSTRAINT uq_score\w* UNIQUE \([^)]*\)", "", before)
        assert count == 1, before
        connection.exec_driver_sql("DROP TABLE score")
        connection.exec_driver_sql(after)
        connection.commit()
