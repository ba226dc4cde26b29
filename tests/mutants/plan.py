"""Mutation plan: groups of modules with their tests, selected mutants, equivalents."""

import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
# A literal that contains a space is a sentence, whose wording is not a rule.
_SENTENCE = re.compile(r"""(['"])(?:(?!\1).)*\s(?:(?!\1).)*\1""")


@dataclass(frozen=True)
class Group:
    """Modules that are mutated together, their tests, and an expression for excluded tests."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    without: str = ""

    def files(self) -> tuple[str, ...]:
        """Return the paths of the modules. In pathlib, `*` matches one folder; in mutmut, it does not."""
        return _files(self.modules)

    def test_files(self) -> tuple[str, ...]:
        """Return the paths of the tests."""
        return _files(self.tests)


@dataclass(frozen=True)
class Mutant:
    """A small change to one function, and its result."""

    name: str
    path: str
    was: str
    becomes: str

    @property
    def function(self) -> str:
        """The function's qualified name, for example grader.ranking.order.order."""
        module, _, mangled = self.name.rpartition("__mutmut_")[0].rpartition(".")
        return f"{module}.{mangled.removeprefix('x_').removeprefix('xǁ').replace('ǁ', '.')}"

    @property
    def identity(self) -> tuple[str, str, str]:
        """The key in the list of equivalents; numbers change with every edit of the function."""
        return self.function, self.was, self.becomes

    @property
    def only_rewords(self) -> bool:
        """Whether the mutant changes only the letters of a sentence."""
        without = [_SENTENCE.sub('""', text) for text in (self.was, self.becomes)]
        return without[0] == without[1] and self.was != self.becomes


@dataclass(frozen=True)
class Equivalent:
    """A mutant that no test can kill, and the reason."""

    function: str
    was: str
    becomes: str
    why: str

    @property
    def identity(self) -> tuple[str, str, str]:
        """The key by which the entry is matched with mutants."""
        return self.function, self.was, self.becomes


def groups() -> dict[str, Group]:
    """Return the groups by name."""
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
    """Return at most `size` mutants of each module.

    A seed's sample changes only if its functions change.
    """
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
