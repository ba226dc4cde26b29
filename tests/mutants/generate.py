"""`python -m tests.mutants.generate`: creation of the mutants, printed as JSON.

The program runs in its own process in a copy of the tree, because mutmut reads its settings from the working
directory when it is imported. mutmut has no command that creates mutants without running them.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from difflib import unified_diff
from pathlib import Path

from mutmut.__main__ import collect_source_file_mutation_data, create_mutants
from mutmut.mutation.data import MutantLineSpans
from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir

NUMBER = re.compile(r"__mutmut_(orig|[0-9]+)")


def main():
    """Print, for each mutant, its name, its file, and the removed and added lines."""
    Path("mutants").mkdir(exist_ok=True)
    with redirect_stdout(sys.stderr):
        copy_src_dir()
        copy_also_copy_files()
        create_mutants(1)
        _, files = collect_source_file_mutation_data(mutant_names=())
        found = [each for path, data in files.items() for each in _described(path, data.exit_code_by_key)]
    json.dump(found, sys.stdout)


def _described(path: str, names: Iterable[str]) -> Iterator[dict[str, str]]:
    # Compare texts, because mutmut's own comparison parses each mutant.
    index = MutantLineSpans.load(path)
    assert index is not None, path
    functions = list(index.span_by_function_name)
    texts = dict(zip(functions, index.read_function_sources(functions), strict=True))
    for name in names:
        mutant = name.rpartition(".")[2]
        original = NUMBER.sub("__mutmut_orig", mutant)
        was, becomes = (NUMBER.sub("", texts[each]).strip().splitlines() for each in (original, mutant))
        changed = list(unified_diff(was, becomes, lineterm="", n=0))[2:]
        yield {
            "name": name,
            "path": path,
            "was": _lines(changed, "-"),
            "becomes": _lines(changed, "+"),
        }


def _lines(changed: list[str], sign: str) -> str:
    return "\n".join(line[1:].strip() for line in changed if line.startswith(sign))


if __name__ == "__main__":
    main()
