"""`python -m tests.mutants.generate`: make the mutants of the folder it runs in, and print them as JSON.

It runs in a process of its own, in a copy of the tree: mutmut reads its settings from the working folder
when it is imported, and has no command that makes mutants without running them.
"""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

from mutmut.__main__ import collect_source_file_mutation_data, create_mutants
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir


def main() -> None:
    """Print for each mutant its name, its file, and the lines that it takes away and puts in their place."""
    Path("mutants").mkdir(exist_ok=True)
    with redirect_stdout(sys.stderr):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(1)
        mutants, _ = collect_source_file_mutation_data(mutant_names=())
        found = [_described(name, str(data.path)) for data, name, _ in mutants]
    json.dump(found, sys.stdout)


def _described(name: str, path: str) -> dict[str, str]:
    changed = get_diff_for_mutant(name, path=path).splitlines()[2:]
    return {
        "name": name,
        "path": path,
        "was": _lines(changed, "-"),
        "becomes": _lines(changed, "+"),
    }


def _lines(changed: list[str], sign: str) -> str:
    """Return the changed lines, without the one that names the mutated function."""
    lines = [line[1:].strip() for line in changed if line.startswith(sign)]
    return "\n".join(line for line in lines if "__mutmut_" not in line)


if __name__ == "__main__":
    main()
