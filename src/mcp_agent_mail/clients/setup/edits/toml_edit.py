"""A table of ours in TOML text: added at the end, mended value by value, or taken away. Every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mcp_agent_mail.clients.setup.edits.text import UnfitText, line_at, newline_of
from mcp_agent_mail.clients.setup.edits.toml_text import Statement, read_values, statements

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def find_table(values: Mapping[str, Any], path: Sequence[str]) -> object:
    """What stands at the path; None where nothing does."""
    found: object = values
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def set_table(text: str, path: Sequence[str], wanted: Mapping[str, Any], *, drop: Sequence[str] = ()) -> str:
    """The text with these values in the table, and none of the names `drop`. Other names of the table stay.

    Raises UnfitText where the table is written in another way than below a header of its own.
    """
    values = read_values(text)
    changed = _set(text, values, path, wanted, drop)
    return _judged(text, changed, path, {**_others(values, path, drop), **wanted})


def _others(values: Mapping[str, Any], path: Sequence[str], drop: Sequence[str]) -> dict[str, Any]:
    there = find_table(values, path)
    return {name: value for name, value in there.items() if name not in drop} if isinstance(there, Mapping) else {}


def _judged(text: str, changed: str, path: Sequence[str], expected: object) -> str:
    """`changed`, if `tomllib` reads what is expected at the path (None: nothing) and all else as it was."""
    line = _line_of(text, path)
    try:
        after = read_values(changed)
    except UnfitText as unfit:
        raise UnfitText(f"[{_name(path)}] cannot be added here: {unfit.message}", line=line) from unfit
    before = read_values(text)
    if find_table(after, path) != expected or _cleared(before, path) != _cleared(after, path):
        raise UnfitText(f"[{_name(path)}] cannot be changed here without a change of something else", line=line)
    return changed


def _cleared(values: Mapping[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Without what is at the path, and the tables above it that then hold nothing."""
    rest = dict(values)
    inner = rest.get(path[0])
    if len(path) == 1:
        rest.pop(path[0], None)
    elif isinstance(inner, Mapping) and not (cleared := _cleared(inner, path[1:])):
        del rest[path[0]]
    elif isinstance(inner, Mapping):
        rest[path[0]] = cleared
    return rest


def _set(
    text: str, values: Mapping[str, Any], path: Sequence[str], wanted: Mapping[str, Any], drop: Sequence[str]
) -> str:
    there = find_table(values, path)
    if there is None:
        _require_room(text, values, path, wanted)
        return _appended(text, path, wanted)
    if not isinstance(there, Mapping) or _header(text, path) is None:
        raise UnfitText(
            f"{_name(path)} is there, but not as a table [{_name(path)}] of its own",
            line=_line_of(text, path),
            hint=f"Write it below a line [{_name(path)}], or take it out; then run am setup again.",
        )
    for name in drop:
        if name in there and name not in wanted:
            text = _without(text, (*path, name))
    for name, value in wanted.items():
        if there.get(name) != value or type(there.get(name)) is not type(value):
            text = _with_value(text, path, name, value)
    return text


def _require_room(text: str, values: Mapping[str, Any], path: Sequence[str], wanted: Mapping[str, Any]) -> None:
    """Raises UnfitText where a table above is one value (`mcp_servers = {...}`): no header adds anything to that."""
    above = next(
        (one for one in statements(text) if not one.is_header and tuple(path[: len(one.path)]) == tuple(one.path)), None
    )
    if above is None:
        return
    name, rest = _name(above.path), path[len(above.path) :]
    pair = f"{_name(rest)} = {_value(wanted)}"
    is_table = isinstance(find_table(values, above.path), Mapping)
    raise UnfitText(
        f"{name} is written as one value, to which [{_name(path)}] cannot be added",
        line=line_at(text, above.start),
        hint=f"Write its servers as tables ([{name}.NAME]) and run am setup again"
        + (f", or put into its braces: {pair}" if is_table else ""),
    )


def remove_table(text: str, path: Sequence[str]) -> str:
    """The text without the table and those below it. Comments that stand in between are not ours, and stay."""
    read_values(text)
    return _judged(text, _without(text, path), path, None)


def restore_table(text: str, path: Sequence[str], original: str) -> str:
    """The text with the table's values as they were in `original`, where it has been before us."""
    before = find_table(read_values(original), path)
    now = find_table(read_values(text), path)
    assert isinstance(before, Mapping)
    if not isinstance(now, Mapping) or _header(text, path) is None:
        return text
    for name in [name for name in now if name not in before]:
        text = _without(text, (*path, name))
    for name, pairs in _pairs_of(original, path).items():
        is_one = len(pairs[0].path) == len(path) + 1
        if now.get(name) == before[name] or (name in now and (not is_one or _is_spread(text, (*path, name)))):
            # As it was, or what somebody has written there since.
            continue
        for pair in pairs:
            assert pair.equals is not None
            text = _with_source(text, path, pair.path[len(path) :], original[pair.equals : pair.end])
    return _with_tables(text, path, original, [name for name in before if name not in now])


def _pairs_of(text: str, path: Sequence[str]) -> dict[str, list[Statement]]:
    """The pairs below the table's own header, by the name in the table that they set: dotted ones are several."""
    found: dict[str, list[Statement]] = {}
    for header, statement in _below_headers(text):
        if header == tuple(path) and not statement.is_header:
            found.setdefault(statement.path[len(path)], []).append(statement)
    return found


def _below_headers(text: str) -> Iterator[tuple[tuple[str, ...], Statement]]:
    """The statements in order, each with the path of the header that it is, or stands below; none at the top."""
    header: tuple[str, ...] = ()
    for one in statements(text):
        if one.is_header:
            header = tuple(one.path)
        yield header, one


def _is_spread(text: str, path: Sequence[str]) -> bool:
    """Whether what is there is written in more than one pair, or below a header."""
    return any(
        len(one.path) > len(path) or one.is_header
        for one in statements(text)
        if tuple(one.path[: len(path)]) == tuple(path)
    )


def _with_tables(text: str, path: Sequence[str], original: str, gone: Collection[str]) -> str:
    """The text with what stood in `original` below headers of these names, at its end. Raises UnfitText."""
    lost = [
        one
        for header, one in _below_headers(original)
        if len(header) > len(path) and header[: len(path)] == tuple(path) and header[len(path)] in gone
    ]
    if not lost:
        return text
    before, now = find_table(read_values(original), path), find_table(read_values(text), path)
    assert isinstance(before, Mapping)
    assert isinstance(now, Mapping)
    newline = newline_of(text)
    body = newline.join(original[one.start : one.end] for one in lost)
    changed = f"{text}{'' if text.endswith(newline) else newline}{newline}{body}{newline}"
    return _judged(text, changed, path, {**now, **{one.path[len(path)]: before[one.path[len(path)]] for one in lost}})


def line_of(text: str, path: Sequence[str]) -> int:
    """Where the table, or what stands for it, is written."""
    return _line_of(text, path)


def _appended(text: str, path: Sequence[str], wanted: Mapping[str, Any]) -> str:
    newline = newline_of(text)
    lines = [f"[{_name(path)}]", *(f"{_name([name])} = {_value(value)}" for name, value in wanted.items())]
    body = newline.join(lines)
    if not text:
        return body + newline
    if text.endswith("\n"):
        return text + newline + body + newline
    # The file ended without a line end, and goes on doing so.
    return text + newline * 2 + body


def _header(text: str, path: Sequence[str]) -> Statement | None:
    return next(
        (
            one
            for one in statements(text)
            if one.is_header and not one.is_array_header and tuple(one.path) == tuple(path)
        ),
        None,
    )


def _line_of(text: str, path: Sequence[str]) -> int:
    """Of the first statement that sets the path, else of one that sets something above it."""
    found = [one for one in statements(text) if tuple(one.path[: len(path)]) == tuple(path)]
    above = [one for one in statements(text) if one.path and tuple(path[: len(one.path)]) == tuple(one.path)]
    first = (found or above)[:1]
    return line_at(text, first[0].start) if first else 1


def _with_value(text: str, path: Sequence[str], name: str, value: object) -> str:
    return _with_source(text, path, [name], _value(value))


def _with_source(text: str, path: Sequence[str], names: Sequence[str], source: str) -> str:
    """The value in the place of the one that is there, else on a line of its own at the end of the table.

    More than one name make a dotted key.
    """
    whole = (*path, *names)
    pair = next((one for one in statements(text) if not one.is_header and tuple(one.path) == whole), None)
    if pair is not None:
        return text[: pair.equals] + source + text[pair.end :]
    if any(tuple(one.path[: len(whole)]) == whole for one in statements(text)):
        raise UnfitText(f"{'.'.join(whole)} is written in more than one statement", line=_line_of(text, whole))
    at = _end_of_section(text, path)
    return text[:at] + newline_of(text) + f"{_name(names)} = {source}" + text[at:]


def _end_of_section(text: str, path: Sequence[str]) -> int:
    """The end of the line of the header, or of the last pair below it; a comment on that line included."""
    header = _header(text, path)
    assert header is not None
    end = header.end
    for one in statements(text):
        if one.start <= header.start:
            continue
        if one.is_header:
            break
        end = one.end
    found = text.find("\n", end)
    if found < 0:
        return len(text)
    return found - 1 if text[found - 1] == "\r" else found


def _without(text: str, path: Sequence[str]) -> str:
    for statement in reversed([one for one in statements(text) if tuple(one.path[: len(path)]) == tuple(path)]):
        text = _cut(text, statement)
    return text


def _cut(text: str, statement: Statement) -> str:
    """Without a statement and the line that it stood on; a comment beside it keeps the line. Before a header, the blank
    line that parted it goes too.
    """
    start = text.rfind("\n", 0, statement.start) + 1
    found = text.find("\n", statement.end)
    end = len(text) if found < 0 else found + 1
    if text[statement.end : end].strip():
        return text[: statement.start] + text[statement.end :].lstrip(" \t")
    if statement.is_header:
        for blank in ("\r\n", "\n"):
            if text[:start].endswith(blank * 2):
                start -= len(blank)
                break
    if found < 0:
        # It was the last line, without an end: the line before becomes that.
        start -= 2 if text[:start].endswith("\r\n") else bool(start)
    return text[:start] + text[end:]


def _name(path: Sequence[str]) -> str:
    return ".".join(name if _BARE.fullmatch(name) else _text(name) for name in path)


def _value(value: object) -> str:
    """A text, number, flag, list of these, or a table of texts within one line."""
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_name([str(name)])} = {_value(inner)}" for name, inner in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(inner) for inner in value)}]"
    assert isinstance(value, str | int | float)
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    """A text of JSON is one of TOML; DEL is the one letter more that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
