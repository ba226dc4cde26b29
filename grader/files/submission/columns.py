"""Column names of a submission: missing, extra, repeated, wrong case, an index column, other order."""

from collections.abc import Iterator, Sequence

from grader.files.reading.header_faults import INDEX_NAMES, header_problem
from grader.files.reading.problems import Note, Problem
from grader.text.wording import character, counted, listed, plural, quoted

ID, PREDICTION = "id", "prediction"
HEADER = f"{ID},{PREDICTION}"


def are_right(names: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether the columns are id and prediction and, at most, those of other labels, each once."""
    distinct = set(names)
    return {ID, PREDICTION} <= distinct <= {ID, PREDICTION, *others} and len(distinct) == len(names)


def notes_on(names: Sequence[str], line: int) -> list[Note]:
    """Say what is done with columns whose names are right."""
    notes = []
    if names.index(PREDICTION) < names.index(ID):
        message = f"The columns were reordered by name: {quoted(','.join(names))}."
        notes.append(Note("columns_reordered", message, line=line))
    unread = [name for name in names if name not in (ID, PREDICTION)]
    if unread:
        shown = f"{plural('column', len(unread))} {listed([quoted(name) for name in unread], most=20)}"
        verb = "was" if len(unread) == 1 else "were"
        message = f"Only {quoted(PREDICTION)} is scored; the {shown} {verb} not read."
        notes.append(Note("columns_not_read", message, line=line, count=len(unread)))
    return notes


def problems_of(names: Sequence[str], others: Sequence[str], number: int) -> list[Problem]:
    """Report every fault of the column names; `others` are allowed beside id and prediction."""
    own = [name for name in names if name not in others]
    folded = [name.casefold() for name in own]
    header = quoted(",".join(names))
    if sorted(folded) == sorted([ID, PREDICTION]) and sorted(own) != sorted([ID, PREDICTION]):
        sentence = f"Line {number:,} is the header {header}; expected '{HEADER}' (case matters)"
        return [_problem("wrong_header", number, sentence, header)]
    if own[:1] == [names[0]] and own[0] in INDEX_NAMES and folded[1:] == [ID, PREDICTION]:
        shown = ", ".join([names[0] or "unnamed", *names[1:]])
        sentence = (
            f"Line {number:,} has {len(names)} columns ({shown}); expected {len(names) - 1} "
            f"({', '.join(names[1:])}). Use to_csv(index=False)"
        )
        return [_problem("index_column", number, sentence, shown)]
    missing = [name for name in (ID, PREDICTION) if name not in names]
    extra = [name for name in dict.fromkeys(own) if name not in (ID, PREDICTION)]
    if len(missing) == 2 and len(names) <= 2:
        sentence = f"Line {number:,} is {header}{_foreign(names)}; expected the header '{HEADER}'"
        return [_problem("wrong_header", number, sentence, header)]
    found = list(_duplicates(names, number))
    if len(missing) == len(extra) == 1:
        return [*found, _wrong_column(names, extra[0], missing[0], number)]
    if missing:
        shown = plural("column", len(missing)) + " " + listed([quoted(name) for name in missing])
        sentence = f"Line {number:,} is {header}{_foreign(names)}: missing {shown}; expected '{HEADER}'"
        found.append(_problem("missing_column", number, sentence, header))
    if extra:
        found.append(_unexpected(names, extra, others, number))
    return found


def _duplicates(names: Sequence[str], number: int) -> Iterator[Problem]:
    for name in dict.fromkeys(names):
        count = names.count(name)
        if name and count > 1:
            times = "twice" if count == 2 else f"{count} times"
            sentence = f"Line {number:,}: column {quoted(name)} appears {times}"
            yield _problem("duplicate_column", number, sentence, quoted(",".join(names)))


def _wrong_column(names: Sequence[str], found: str, expected: str, number: int) -> Problem:
    shown = f"the column {quoted(found)}{_foreign([found])}" if found else "a column without a name"
    is_index = expected == ID and found == names[0] and found in INDEX_NAMES
    hint = f". Use to_csv(index_label='{ID}')" if is_index else ""
    sentence = f"Line {number:,}: found {shown}; expected '{expected}'{hint}"
    return _problem("wrong_column", number, sentence, quoted(found))


def _unexpected(names: Sequence[str], extra: Sequence[str], others: Sequence[str], number: int) -> Problem:
    shown = listed([quoted(name) if name else "(unnamed)" for name in extra])
    unexpected = f"unexpected {plural('column', len(extra))} {shown}"
    if names[-1] == "" and list(extra) == [""]:
        unexpected += " (a trailing comma?)"
    width = counted(len(names), "column")
    sentence = f"Line {number:,} has {width}, expected 2: {unexpected}"
    if others:
        allowed = listed([quoted(name) for name in others], most=20)
        sentence = (
            f"Line {number:,} has {width}: {unexpected}; besides '{HEADER}' only {allowed} may be there"
        )
    return _problem("unexpected_column", number, sentence, shown)


def _foreign(names: Sequence[str]) -> str:
    """Name the first non-ASCII character: it may look just like the expected one."""
    foreign = next((char for char in "".join(names) if not char.isascii()), None)
    return f" (it holds {character(foreign)})" if foreign else ""


def _problem(code: str, line: int, sentence: str, found: str) -> Problem:
    return header_problem(code, line, sentence, found, HEADER)
