"""Metric reference as Markdown, generated from signatures and numpydoc docstrings."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
LISTS = frozenset({"Attributes", "Parameters", "Returns", "Yields", "Raises"})
NOTHING = inspect.Parameter.empty
LINE = 76  # characters of code that fit next to the table of contents


def of_names(package: str) -> str:
    """Return the reference of a package's `__all__`: functions, then classes, then values."""
    module = importlib.import_module(package)
    names = {name: getattr(module, name) for name in module.__all__}
    kinds = (inspect.isfunction, inspect.isclass)
    ordered = sorted(names, key=lambda name: [not is_kind(names[name]) for is_kind in kinds])
    return "\n\n".join(
        [*_introduction(module), *(part for name in ordered for part in _of_name("##", name, names[name]))]
    )


def of_modules(package: str) -> str:
    """Return the reference of the functions in a package's modules, module by module."""
    module = importlib.import_module(package)
    modules = _modules_of(module)
    return "\n\n".join([*_introduction(module), *(part for each in modules for part in _of_module(each))])


def _introduction(module: ModuleType) -> tuple[str, str]:
    return f"# Reference of {module.__name__}", _prose(inspect.getdoc(module) or "")


def _modules_of(package: ModuleType) -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.ispkg:
            yield importlib.import_module(found.name)


def _of_module(module: ModuleType) -> Iterator[str]:
    names = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        if inspect.isfunction(value) and "Parameters\n---" in (inspect.getdoc(value) or "")
    }
    if names:
        yield f"## {module.__name__.removeprefix('grader.metrics.')}"
        yield _prose(inspect.getdoc(module) or "")
        for name, value in names.items():
            yield from _of_name("###", name, value)


def _of_name(level: str, name: str, value: Any) -> Iterator[str]:
    yield f"{level} {name}"
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        yield _code(f"{name} = {value!r}")
        return
    yield _code(_call(name, value))
    yield from _docstring(inspect.getdoc(value) or "")
    if inspect.isclass(value) and (methods := list(_methods(value))):
        yield from ("**Methods and properties**", "\n".join(methods))


def _call(name: str, value: Any) -> str:
    """Return a signature without types, one parameter per line if it is too long."""
    signature = inspect.signature(value)
    bare = [each.replace(annotation=NOTHING) for each in signature.parameters.values()]
    signature = signature.replace(parameters=bare, return_annotation=NOTHING)
    call = f"{name}{signature}".replace("<factory>", "...")
    if len(call) <= LINE:
        return call
    lines: list[str] = []
    for each in bare:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in lines:
            lines.append("*")
        lines.append(str(each).replace("<factory>", "..."))
    return "\n".join([f"{name}(", *(f"    {line}," for line in lines), ")"])


def _methods(value: type) -> Iterator[str]:
    for name, member in vars(value).items():
        function = getattr(member, "__func__", getattr(member, "func", getattr(member, "fget", member)))
        if name.startswith("_") or not (inspect.isfunction(function) and function.__doc__):
            continue
        shown = name if function is not member and not isinstance(member, classmethod) else f"{name}()"
        yield f"- `{value.__name__}.{shown}`: {_prose(function.__doc__).partition(chr(10) * 2)[0]}"


def _docstring(text: str) -> Iterator[str]:
    introduction, *sections = SECTION.split(text)
    yield _prose(introduction)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield f"**{title}**"
        if title == "Examples":
            yield _code(body)
        elif title in LISTS:
            yield "\n".join(_list(body))
        else:
            yield _prose(body)


def _list(body: str) -> Iterator[str]:
    """Yield a list item for each parameter, value or error: name, type and description."""
    for entry in re.split(r"\n(?=\S)", body.strip()):
        head, _, meaning = entry.partition("\n")
        name, _, kind = head.partition(" : ")
        of_kind = f" ({_prose(kind)})" if kind else ""
        words = " ".join(_prose(meaning).split())
        yield f"- `{name}`{of_kind}{': ' if words else ''}{words}"


def _prose(text: str) -> str:
    """Convert the docstrings' reStructuredText constructs to Markdown."""
    text = re.sub(r"^\.\. math:: (.*(?:\n +\S.*)*)$", r"$$\1$$", inspect.cleandoc(text), flags=re.MULTILINE)
    return re.sub(r"^\.\. \[(\d+)\] ", r"\\[\1] ", text, flags=re.MULTILINE).strip()


def _code(text: str) -> str:
    return f"```python\n{text.strip()}\n```"
