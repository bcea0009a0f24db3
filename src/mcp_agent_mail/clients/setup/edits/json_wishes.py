"""What we wish for in a JSON file: put in, looked at, and taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mcp_agent_mail.clients.setup.edits import json_edit
from mcp_agent_mail.clients.setup.edits.foreign_names import foreign_paths
from mcp_agent_mail.clients.setup.edits.json_text import Json, Node, parse
from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import line_at
from mcp_agent_mail.clients.setup.wishes import COMMANDS, EntryWish, FileWish, HookWish, is_ours, is_ours_in_other_words

_Place = tuple[int, int | None]
"""The index of an item of ours, and within a group that of its handler."""


def put_into(text: str, wish: FileWish) -> str:
    """The text with all that is wished; as it is where that is there. Raises UnfitText."""
    text = json_edit.begun(text)
    for entry in wish.entries:
        text = _put_entry(text, entry)
    for hook in wish.hooks:
        text = _put_hook(text, hook)
    return text


def differences(text: str, wish: FileWish) -> list[Difference]:
    """What is missing (`line` None) or differs from what is wished, with its line. Raises UnfitText."""
    root = parse(json_edit.begun(text))
    found: list[Difference] = []
    for entry in wish.entries:
        name, node = ".".join(entry.path), root.find_path(entry.path)
        if node is None:
            found.append(Difference(what=name, line=None))
            continue
        found += [
            Difference(what=f"{name}.{'.'.join(path)}".rstrip("."), line=line_at(text, at.start))
            for path, at in _unlike(node, entry)
        ]
    for hook in wish.hooks:
        array = root.find_path(hook.path)
        places = _places(array.value if array is not None else None, hook.mark)
        reworded = _reworded(text, array, hook.mark)
        found += reworded
        if array is None or not places:
            found += [] if reworded else [Difference(what=hook.mark, line=None)]
        elif len(places) > 1 or not _is_as_wished(array.value, places[0], hook.item):
            found.append(Difference(what=hook.mark, line=line_at(text, array.items[places[-1][0]].start)))
    return found


def reworded(text: str, wish: FileWish) -> list[Difference]:
    """The handlers that run our hooks in other words than ours, which are neither changed nor taken out. Raises
    UnfitText.
    """
    root = parse(json_edit.begun(text))
    return [one for hook in wish.hooks for one in _reworded(text, root.find_path(hook.path), hook.mark)]


def take_out(text: str, wish: FileWish, original: str | None) -> str | None:
    """The text without ours, with what stood in its place in `original`; None where nothing is left that was not ours.

    Raises UnfitText.
    """
    before = parse(json_edit.begun(original or ""))
    for hook in reversed(wish.hooks):
        text = _take_hook(text, hook, before, original or "")
        text = _tidied(text, hook.path, before, original)
    for entry in wish.entries:
        if not entry.is_scaffold:
            text = _take_entry(text, entry, before, original)
            text = _tidied(text, entry.path[:-1], before, original)
    return _without_scaffold(text, wish, before, original)


# --- Entries ------------------------------------------------------------------------------------------------------


def _put_entry(text: str, entry: EntryWish) -> str:
    node = parse(text).find_path(entry.path)
    if node is not None and entry.is_scaffold:
        return text
    if node is None or not isinstance(node.value, dict) or not isinstance(entry.value, dict):
        is_same = node is not None and node.value == entry.value
        return text if is_same else json_edit.set_value(text, entry.path, entry.value)
    for name in entry.drop:
        if name in node.value and name not in entry.value:
            text = json_edit.remove_member(text, [*entry.path, name])
    for path in _foreign_in(node, entry):
        text = json_edit.remove_member(text, [*entry.path, *path])
    for path, value in _leaves(entry.value):
        if not _is_there(node.find_path(path), entry, path, value):
            text = json_edit.set_value(text, [*entry.path, *path], value)
    return text


def _is_there(there: Node | None, entry: EntryWish, path: Sequence[str], value: Json) -> bool:
    """As wished, or as a person would have it who may."""
    return there is not None and (there.value == value or entry.is_persons(path, there.value))


def _leaves(value: dict[str, Json], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    """The innermost values with their paths; an empty object is one."""
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, (*path, name))
        else:
            yield (*path, name), inner


def _foreign_in(node: Node, entry: EntryWish) -> list[tuple[str, ...]]:
    """Without those that are named to be dropped."""
    return [path for path in foreign_paths(node.value, entry) if path[0] not in entry.drop]


def _unlike(node: Node, entry: EntryWish) -> Iterator[tuple[Sequence[str], Node]]:
    """The values of an entry that are not as wished, and where to look for them."""
    if entry.is_scaffold:
        return
    if not isinstance(node.value, dict) or not isinstance(entry.value, dict):
        if node.value != entry.value:
            yield (), node
        return
    for name in entry.drop:
        if name in node.value and name not in entry.value:
            yield (name,), node.find_path([name]) or node
    for path in _foreign_in(node, entry):
        yield path, node.find_path(path) or node
    for path, value in _leaves(entry.value):
        there = node.find_path(path)
        if not _is_there(there, entry, path, value):
            yield path, there or node


def _take_entry(text: str, entry: EntryWish, before: Node, original: str | None) -> str:
    node, former = parse(text).find_path(entry.path), before.find_path(entry.path)
    if node is None:
        return text
    if former is None or original is None:
        return json_edit.remove_member(text, entry.path)
    expected = parse(_put_entry(original, entry)).find_path(entry.path)
    if (expected is not None and expected.value == node.value) or not isinstance(former.value, dict):
        return json_edit.set_source(text, entry.path, original[former.start : former.end])
    for path, value in _leaves(entry.value):
        there, was = node.find_path(path), former.find_path(path)
        if there is not None and there.value == value:
            whole = [*entry.path, *path]
            text = json_edit.remove_member(text, whole) if was is None else json_edit.set_value(text, whole, was.value)
    for name in entry.drop:
        if name in former.value and name not in node.value:
            text = json_edit.set_value(text, [*entry.path, name], former.value[name])
    for path in _foreign_in(former, entry):
        was = former.find_path(path)
        if was is not None and node.find_path(path) is None:
            text = json_edit.set_value(text, [*entry.path, *path], was.value)
    return text


# --- Hooks --------------------------------------------------------------------------------------------------------


def _put_hook(text: str, hook: HookWish) -> str:
    array = parse(text).find_path(hook.path)
    places = _places(array.value if array is not None else None, hook.mark)
    for place in reversed(places[1:]):
        text = _without_place(text, hook.path, place)
    if array is None or not places:
        # Beside one that somebody worded otherwise ours would tell everything a second time.
        return text if _reworded(text, array, hook.mark) else json_edit.add_item(text, hook.path, hook.item)
    if _is_as_wished(array.value, places[0], hook.item):
        return text
    index, inner = places[0]
    if inner is None or len(array.value[index]["hooks"]) == 1:
        return json_edit.set_value(text, [*hook.path, index], hook.item)
    if not _is_same_group(array.value[index], hook.item):
        return json_edit.add_item(_without_place(text, hook.path, places[0]), hook.path, hook.item)
    return _with_handler(text, hook.path, places[0], hook.item["hooks"][0])


def _reworded(text: str, array: Node | None, mark: str) -> list[Difference]:
    if array is None:
        return []
    what = f"runs am hook in other words ({mark.removeprefix('hook ')})"
    return [
        Difference(what=what, line=line_at(text, _command_at(array, place).start), is_reworded=True)
        for place in _places(array.value, mark, is_ours_in_other_words)
    ]


def _command_at(array: Node, place: _Place) -> Node:
    item = array.items[place[0]]
    handler = item if place[1] is None else item.find_path(["hooks", place[1]])
    assert handler is not None
    return next((found for name in COMMANDS if (found := handler.find_path([name])) is not None), handler)


def _places(items: Json, mark: str, is_meant: Callable[[Json, str], bool] = is_ours) -> list[_Place]:
    """Where handlers of ours stand in an array of handlers, or of groups with `hooks`."""
    found: list[_Place] = []
    for index, item in enumerate(items if isinstance(items, list) else []):
        inner = item.get("hooks") if isinstance(item, dict) else None
        if isinstance(inner, list):
            found += [(index, at) for at, handler in enumerate(inner) if is_meant(handler, mark)]
        elif is_meant(item, mark):
            found.append((index, None))
    return found


def _is_as_wished(items: Json, place: _Place, wanted: Json) -> bool:
    """A group may hold handlers of others too, but says of when they run what ours has to say."""
    index, inner = place
    item = items[index]
    if inner is not None and len(item["hooks"]) > 1:
        return _is_same_group(item, wanted) and bool(item["hooks"][inner] == wanted["hooks"][0])
    return bool(item == wanted)


def _is_same_group(item: dict[str, Json], wanted: dict[str, Json]) -> bool:
    """Whether a handler of ours runs there when it should: by the matcher above all."""
    return {**item, "hooks": None} == {**wanted, "hooks": None} and "hooks" in wanted


def _take_hook(text: str, hook: HookWish, before: Node, original: str) -> str:
    """Without ours, and with what ran `am` there before us: in the groups, below the matchers, that it stood in."""
    array, former = parse(text).find_path(hook.path), before.find_path(hook.path)
    places = _places(array.value if array is not None else None, hook.mark)
    for place in reversed(places[1:]):
        text = _without_place(text, hook.path, place)
    if not places:
        return text
    earlier = _places(former.value if former is not None else None, hook.mark)
    lost = list(dict.fromkeys(index for index, _ in earlier))
    mended = _mended(text, hook, places[0], original, lost[0]) if lost else None
    text = mended or _without_place(text, hook.path, places[0])
    for index in lost[1:] if mended else lost:
        text = _put_back(text, hook, original, index)
    return text


def _mended(text: str, hook: HookWish, place: _Place, original: str, lost: int) -> str | None:
    """With a former item in the place of ours; None where ours stands among what is others', or that does."""
    index, inner = place
    was, item = _item(original, hook.path, lost), _item(text, hook.path, index)
    ours, others = _parted(was.value, hook.mark)
    is_ours_alone = inner is None or (len(item.value["hooks"]) == 1 and _is_same_group(item.value, hook.item))
    if is_ours_alone and not others:
        return _with_item(text, hook.path, index, was)
    if inner is None or not ours:
        return None
    if not _is_same_group(item.value, was.value) and (others or len(item.value["hooks"]) > 1):
        return None
    # A matcher that somebody has changed since is theirs.
    text = _with_handler(text, hook.path, place, ours[0])
    return _with_handlers(text, hook.path, index, ours[1:])


def _put_back(text: str, hook: HookWish, original: str, lost: int) -> str:
    """With a former item at the end; of a group that is still there, with what ran `am` in it."""
    was = _item(original, hook.path, lost)
    ours, others = _parted(was.value, hook.mark)
    array = parse(text).find_path(hook.path)
    groups = array.items if array is not None else []
    index = next((at for at, group in enumerate(groups) if _is_rest_of(group.value, was.value, others)), None)
    if index is None:
        text = json_edit.add_item(text, hook.path, {**was.value, "hooks": ours} if ours else was.value)
        # As it was written, unless others of it are gone by somebody's wish.
        return text if others else _with_item(text, hook.path, len(groups), was)
    bare = original
    for place in reversed([one for one in _places(_array_value(original, hook.path), hook.mark) if one[0] == lost]):
        bare = _without_place(bare, hook.path, place)
    if _source(_item(bare, hook.path, lost)) == _source(groups[index]):
        return _with_item(text, hook.path, index, was)
    return _with_handlers(text, hook.path, index, ours)


def _parted(item: Json, mark: str) -> tuple[list[Json], list[Json]]:
    """The handlers of a group that are ours, and the others; none of an item that is a handler itself."""
    handlers = item.get("hooks") if isinstance(item, dict) else None
    handlers = handlers if isinstance(handlers, list) else []
    return [one for one in handlers if is_ours(one, mark)], [one for one in handlers if not is_ours(one, mark)]


def _is_rest_of(group: Json, was: Json, others: Sequence[Json]) -> bool:
    """Whether a group is what is left of another one without ours: some of the others' run there, as they did."""
    handlers = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(handlers, list) or not any(one in handlers for one in others):
        return False
    return _is_same_group(group, was)


def _array_value(text: str, path: Sequence[str]) -> Json:
    array = parse(text).find_path(path)
    return array.value if array is not None else None


def _item(text: str, path: Sequence[str], index: int) -> Node:
    item = parse(text).find_path([*path, index])
    assert item is not None
    return item


def _source(node: Node) -> str:
    return node.text[node.start : node.end]


def _with_item(text: str, path: Sequence[str], index: int, was: Node) -> str:
    return json_edit.set_source(text, [*path, index], _source(was))


def _with_handlers(text: str, path: Sequence[str], index: int, handlers: Sequence[Json]) -> str:
    for handler in handlers:
        text = json_edit.add_item(text, [*path, index, "hooks"], handler)
    return text


def _without_place(text: str, path: Sequence[str], place: _Place) -> str:
    """The handler goes, and its group when nothing is left in it."""
    index, inner = place
    array = parse(text).find_path(path)
    assert array is not None
    if inner is None or len(array.value[index]["hooks"]) == 1:
        return json_edit.remove_item(text, path, index)
    return json_edit.remove_item(text, [*path, index, "hooks"], inner)


def _with_handler(text: str, path: Sequence[str], place: _Place, handler: Json) -> str:
    index, inner = place
    return json_edit.set_value(text, [*path, index] if inner is None else [*path, index, "hooks", inner], handler)


# --- What is left -------------------------------------------------------------------------------------------------


def _tidied(text: str, path: Sequence[str], before: Node, original: str | None) -> str:
    """Without the containers on the way that hold nothing now and were not there; those that were are as written."""
    for depth in range(len(path), 0, -1):
        node, former = parse(text).find_path(path[:depth]), before.find_path(path[:depth])
        if node is None or node.value or text[node.start + 1 : node.close].strip():
            return text
        if former is None:
            text = json_edit.remove_member(text, path[:depth])
        elif original is not None and not former.value:
            return json_edit.set_source(text, path[:depth], original[former.start : former.end])
    return text


def _without_scaffold(text: str, wish: FileWish, before: Node, original: str | None) -> str | None:
    """A file that was there goes on without what it never had; others in one that we made need it."""
    scaffolds = [entry for entry in wish.entries if entry.is_scaffold and before.find_path(entry.path) is None]
    if original is not None or set(parse(text).value) <= {entry.path[0] for entry in scaffolds}:
        for entry in scaffolds:
            text = json_edit.remove_member(text, entry.path)
    if "".join(text.split()) != "{}":
        return text
    if original is None:
        return None
    return text if "".join(original.split()).strip("{}") else original
