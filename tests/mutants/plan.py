"""What is mutated: the groups of modules with their tests, the mutants that are run, and the equivalents."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# A literal with a space in it is a sentence; how it is worded is no rule.
_SENTENCE = re.compile(r"""(['"])(?:(?!\1).)*\s(?:(?!\1).)*\1""")


@dataclass(frozen=True)
class Group:
    """Modules that are mutated together, the tests beside them, and an expression of tests to leave out."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    without: str = ""

    def files(self) -> tuple[str, ...]:
        """Return the paths of its modules: `*` is one folder's, for pathlib and not for mutmut."""
        return _files(self.modules)

    def test_files(self) -> tuple[str, ...]:
        """Return the paths of its tests."""
        return _files(self.tests)


@dataclass(frozen=True)
class Mutant:
    """A small change to one function, and what became of it."""

    name: str
    path: str
    was: str
    becomes: str

    @property
    def function(self) -> str:
        """The function's name as Python writes it, with its module: grader.ranking.order.order."""
        module, _, mangled = self.name.rpartition("__mutmut_")[0].rpartition(".")
        return f"{module}.{mangled.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """What names it in the list of equivalents: numbers change with every edit of the function."""
        return self.function, self.was, self.becomes

    @property
    def only_rewords(self) -> bool:
        """Whether it changes nothing but the letters of a sentence."""
        without = [_SENTENCE.sub('""', text) for text in (self.was, self.becomes)]
        return without[0] == without[1] and self.was != self.becomes


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can kill, and why."""

    function: str
    was: str
    becomes: str
    why: str

    @property
    def identity(self) -> tuple[str, str, str]:
        """What the mutant is compared by."""
        return self.function, self.was, self.becomes


def groups() -> dict[str, Group]:
    """Return the groups by their names."""
    found = tomllib.loads((HERE / "groups.toml").read_text())
    return {
        name: Group(name, tuple(each["modules"]), tuple(each["tests"]), each.get("without", ""))
        for name, each in found.items()
    }


def equivalents() -> dict[tuple[str, str, str], Equivalent]:
    """Return the known equivalents."""
    found = tomllib.loads((HERE / "equivalents.toml").read_text())
    listed = [Equivalent(**each) for each in found.get("equivalent", [])]
    return {each.identity: each for each in listed}


def sample(mutants: list[Mutant], size: int, seed: int = 0) -> list[Mutant]:
    """Return at most `size` mutants of each module, the same for a seed until their functions change."""
    by_path: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    return [
        mutant
        for found in by_path.values()
        for mutant in (sorted(found, key=lambda each: _draw(each, seed))[:size] if size else found)
    ]


def _draw(mutant: Mutant, seed: int) -> str:
    return hashlib.sha256("\n".join((str(seed), *mutant.identity)).encode()).hexdigest()


def _files(patterns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(path.relative_to(ROOT)) for pattern in patterns for path in sorted(ROOT.glob(pattern)))
