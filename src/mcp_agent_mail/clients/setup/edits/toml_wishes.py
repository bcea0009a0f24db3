"""What we wish for in a TOML file: tables, put in, looked at, and taken out again."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.clients.setup.edits.foreign_names import foreign_paths
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.toml_edit import (
    find_table,
    line_of,
    remove_table,
    restore_table,
    set_table,
)
from mcp_agent_mail.clients.setup.edits.toml_text import read_values
from mcp_agent_mail.clients.setup.wishes import EntryWish, FileWish


def put_into(text: str, wish: FileWish) -> str:
    """The text with all that is wished; as it is where that is there. Raises UnfitText."""
    for entry in wish.entries:
        if _unlike(text, entry):
            there = find_table(read_values(text), entry.path)
            wanted = {name: value for name, value in entry.value.items() if not _is_persons(there, entry, name)}
            text = set_table(text, entry.path, wanted, drop=[*entry.drop, *_foreign_names(there, entry)])
    return text


def differences(text: str, wish: FileWish) -> list[Difference]:
    """What is missing (`line` None) or differs from what is wished, with its line. Raises UnfitText, also where a
    missing entry has no place.
    """
    values = read_values(text)
    found: list[Difference] = []
    for entry in wish.entries:
        name = ".".join(entry.path)
        if find_table(values, entry.path) is None:
            # Where it cannot be put, that is what has to be said.
            put_into(text, wish)
            found.append(Difference(what=name, line=None))
            continue
        for key in _unlike(text, entry):
            there = find_table(values, [*entry.path, key]) is not None
            found.append(
                Difference(what=f"{name}.{key}", line=line_of(text, [*entry.path, key] if there else entry.path))
            )
    return found


def take_out(text: str, wish: FileWish, original: str | None) -> str | None:
    """The text without ours, with what stood in its place in `original`; None where nothing is left that was not ours.

    Raises UnfitText.
    """
    before = read_values(original or "")
    for entry in wish.entries:
        if find_table(read_values(text), entry.path) is None:
            continue
        if isinstance(find_table(before, entry.path), Mapping) and original is not None:
            text = restore_table(text, entry.path, original)
        else:
            text = remove_table(text, entry.path)
    return None if original is None and not text.strip() else text


def _foreign_names(there: object, entry: EntryWish) -> list[str]:
    """Tables below the entry go as a whole."""
    names = dict.fromkeys(path[0] for path in foreign_paths(there, entry))
    return [name for name in names if name not in entry.drop]


def _is_persons(there: object, entry: EntryWish, name: str) -> bool:
    return isinstance(there, Mapping) and name in there and entry.is_persons([name], there[name])


def _unlike(text: str, entry: EntryWish) -> list[str]:
    """The names of an entry that are not as wished."""
    there = find_table(read_values(text), entry.path)
    if not isinstance(there, Mapping):
        return list(entry.value)
    wrong = [
        name for name, value in entry.value.items() if there.get(name) != value and not _is_persons(there, entry, name)
    ]
    wrong += _foreign_names(there, entry)
    return wrong + [name for name in entry.drop if name in there and name not in entry.value]
