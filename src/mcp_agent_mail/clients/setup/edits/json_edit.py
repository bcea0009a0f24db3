"""Single changes to JSON text: a value set, a member or an item added or taken away. Every other byte stays."""

from __future__ import annotations

import json

from mcp_agent_mail.clients.setup.edits.json_text import Json, Node, Path, comments_between, parse, skip_gap
from mcp_agent_mail.clients.setup.edits.text import UnfitText, indentation_at, line_at, newline_of, unit_of


def begun(text: str) -> str:
    """The text, with an empty object where nothing but blanks is."""
    return text if text.strip() else "{}" + (text or "\n")


def set_value(text: str, path: Path, value: Json) -> str:
    """The text with `value` at the path of names; objects on the way are made. Raises UnfitText where one cannot be."""
    text = begun(text)
    return _judged(text, _set_value(text, path, value), values_with(parse(text).value, path, value))


def values_with(values: Json, path: Path, value: Json) -> Json:
    """A copy of plain values with `value` at the path."""
    if not path:
        return value
    if isinstance(path[0], int):
        changed = values_with(values[path[0]], path[1:], value)
        return [*values[: path[0]], changed, *values[path[0] + 1 :]]
    inner = values if isinstance(values, dict) else {}
    return {**inner, path[0]: values_with(inner.get(path[0]), path[1:], value)}


def values_without(values: Json, path: Path) -> Json:
    """A copy of plain values without that member."""
    if len(path) == 1:
        return {name: value for name, value in values.items() if name != path[0]}
    return values_with(values, path[:1], values_without(values[path[0]], path[1:]))


def _judged(text: str, changed: str, expected: Json) -> str:
    """`changed`, if what it holds is what is expected, by the letter and in order; else our change went wrong."""
    try:
        held = parse(changed).value
    except UnfitText as unfit:
        raise _unfit(text, unfit.message) from unfit
    try:
        is_expected = json.dumps(held) == json.dumps(expected)
    except RecursionError:
        raise _unfit(text, "it is nested too deeply") from None
    if not is_expected:
        raise _unfit(text, "it reads another way then")
    return changed


def _unfit(text: str, reason: str) -> UnfitText:
    return UnfitText(
        f"our entry cannot be changed here without a change of something else ({reason})", line=line_at(text, 0)
    )


def _set_value(text: str, path: Path, value: Json) -> str:
    root = node = parse(text)
    for depth, key in enumerate(path):
        if isinstance(key, int):
            node = node.items[key]
            continue
        _require(text, node, dict, path[:depth])
        member = node.find(key)
        if member is None:
            rest = value
            for name in reversed(path[depth + 1 :]):
                rest = {name: rest}
            return _insert(text, root, node, rest, key=key)
        node = member.node
    return text[: node.start] + _written(text, root, node.start, value) + text[node.end :]


def add_item(text: str, path: Path, item: Json) -> str:
    """The text with one more item at the end of the array at the path, which is made where there is none."""
    text = begun(text)
    root = parse(text)
    array = root.find_path(path)
    if array is None:
        return set_value(text, path, [item])
    _require(text, array, list, path)
    return _judged(text, _insert(text, root, array, item), values_with(root.value, path, [*array.value, item]))


def remove_member(text: str, path: Path) -> str:
    """The text without that member; as it is where there is none."""
    root = parse(text)
    parent = root.find_path(path[:-1])
    member = parent.find(str(path[-1])) if parent is not None else None
    if parent is None or member is None:
        return text
    changed = _remove(text, parent, member.start, member.node.end)
    return _judged(text, changed, values_without(root.value, path))


def remove_item(text: str, path: Path, index: int) -> str:
    """The text without that item of the array, which stays."""
    root = parse(text)
    array = _array(root, path)
    node = array.items[index]
    items = [*array.value[:index], *array.value[index + 1 :]]
    return _judged(text, _remove(text, array, node.start, node.end), values_with(root.value, path, items))


def set_source(text: str, path: Path, source: str) -> str:
    """The text with a value as somebody wrote it in the place of the one that is there."""
    node = parse(text).find_path(path)
    return text if node is None else text[: node.start] + source + text[node.end :]


def _array(root: Node, path: Path) -> Node:
    array = root.find_path(path)
    assert array is not None
    return array


def _require(text: str, node: Node, kind: type, path: Path) -> None:
    if not isinstance(node.value, kind):
        what = "object" if kind is dict else "array"
        name = ".".join(map(str, path)) or "the file"
        raise UnfitText(f"{name} is no JSON {what}, so our entry has no place in it", line=line_at(text, node.start))


def _insert(text: str, root: Node, parent: Node, value: Json, *, key: str | None = None) -> str:
    """One more part at the end of `parent`: a member if it has a `key`."""
    last = _last_end(parent)
    newline, unit = newline_of(text), unit_of(text)
    if not _is_spread(text, root, parent):
        head = _head(text, key)
        body = head + _on_one_line(text, value)
        at = parent.close if last is None else last
        blank = " " if last is not None and _has_blanks(text) else ""
        return _placed(text, last, at, blank + body)
    outer = _indentation_of_line(text, parent.start)
    indent = _indent_of_parts(text, parent, outer + unit)
    body = _head(text, key, spaced=True) + _spread(value, indent, unit, newline)
    at = parent.start + 1 if last is None else last
    comments = comments_between(text, at, parent.close)
    if comments:
        at = comments[-1][1]
    tail = "" if "\n" in text[at : parent.close] else newline + outer
    return _placed(text, last, at, newline + indent + body + tail)


def _placed(text: str, last: int | None, at: int, body: str) -> str:
    """With the comma that the part before wants, directly after that part; a trailing one stays a trailing one."""
    if last is None:
        return text[:at] + body + text[at:]
    comma = skip_gap(text, last)
    if text[comma] == ",":
        at = max(at, comma + 1)
        lead = body.rstrip()
        return text[:at] + lead + "," + body[len(lead) :] + text[at:]
    return text[:last] + "," + text[last:at] + body + text[at:]


def _remove(text: str, parent: Node, start: int, end: int) -> str:
    """Without the part, the line that it alone stood on, and one comma: the one after it, else the one before."""
    after = skip_gap(text, end)
    has_comma = text[after] == ","
    # A comment between the part and its comma is somebody's.
    kept = text[end:after] if has_comma else ""
    cut_end = after + 1 if has_comma else end
    cut_start = _start_of_own_line(text, start, cut_end)
    if cut_start is None:
        cut_start = start
        while has_comma and text[cut_end] in " \t":
            cut_end += 1
    before = None if has_comma else _comma_before(text, parent, start)
    if before is None:
        return text[:cut_start] + kept + text[cut_end:]
    if not text[before + 1 : start].strip(" \t"):
        cut_start = before + 1
    return text[:before] + text[before + 1 : cut_start] + text[cut_end:]


def _start_of_own_line(text: str, start: int, end: int) -> int | None:
    """Where the line end before a part is, if nothing else stands on the part's lines."""
    rest = text[end : end + 1] if text[end : end + 1] in ("\n", "") else text[end:].split("\n", 1)[0].strip(" \t\r")
    if indentation_at(text, start) is None or rest.strip():
        return None
    line = text.rfind("\n", 0, start)
    return line - 1 if line > 0 and text[line - 1] == "\r" else max(line, 0)


def _comma_before(text: str, parent: Node, start: int) -> int | None:
    ends = [part.end for part in _parts(parent) if part.end <= start]
    return skip_gap(text, ends[-1]) if ends else None


def _parts(parent: Node) -> list[Node]:
    return [member.node for member in parent.members] or list(parent.items)


def _last_end(parent: Node) -> int | None:
    parts = _parts(parent)
    return parts[-1].end if parts else None


def _starts(parent: Node) -> list[int]:
    return [member.start for member in parent.members] or [item.start for item in parent.items]


def _is_spread(text: str, root: Node, parent: Node) -> bool:
    """Whether its parts stand on lines of their own. An empty one is as the whole file is."""
    if _parts(parent):
        return "\n" in text[parent.start : _starts(parent)[-1]]
    return "\n" in text[root.start : root.end] or not _parts(root) or "\n" in text[parent.start : parent.end]


def _indent_of_parts(text: str, parent: Node, otherwise: str) -> str:
    for start in reversed(_starts(parent)):
        found = indentation_at(text, start)
        if found is not None:
            return found
    return otherwise


def _indentation_of_line(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = start
    while end < position and text[end] in " \t":
        end += 1
    return text[start:end]


def _has_blanks(text: str) -> bool:
    """Whether a file on one line parts its words by blanks."""
    return '": ' in text or ": " in text or text.strip() in ("{}", "[]")


def _head(text: str, key: str | None, *, spaced: bool = False) -> str:
    if key is None:
        return ""
    return json.dumps(key, ensure_ascii=False) + (": " if spaced or _has_blanks(text) else ":")


def _on_one_line(text: str, value: Json) -> str:
    separators = (", ", ": ") if _has_blanks(text) else (",", ":")
    return json.dumps(value, ensure_ascii=False, separators=separators)


def _spread(value: Json, indent: str, unit: str, newline: str) -> str:
    """As the file is laid out; what holds nothing, and arrays of plain words, on one line."""
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return (newline + indent).join(lines)


def _written(text: str, root: Node, start: int, value: Json) -> str:
    """A value in the place of another one that began at `start`."""
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    if "\n" not in text[root.start : root.end]:
        return _on_one_line(text, value)
    return _spread(value, _indentation_of_line(text, start), unit_of(text), newline_of(text))
