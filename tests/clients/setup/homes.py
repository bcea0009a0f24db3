"""Made-up homes: every file of a client as somebody may have left it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_agent_mail.clients.contracts.reader import CLIENTS, read_contract
from mcp_agent_mail.clients.setup.contract_wishes import SetupSettings, wishes_of
from mcp_agent_mail.clients.setup.places import Surroundings
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish

SETTINGS = SetupSettings(am="/opt/agent mail/bin/am", url="http://127.0.0.1:8999/mcp", has_token=True)

# Plain JSON.
Json = Any

Snapshot = dict[str, tuple[str, bytes, int]]
"""By path: kind, bytes (or where a link leads), mode."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How the files of a home are. `is_refused`: none of them is one that may be written."""

    name: str
    make: Callable[[Path, FileWish], None]
    is_refused: bool = False


def wishes(home: Path, client: str, project: Path | None = None) -> list[FileWish]:
    return wishes_of(client, SETTINGS, Surroundings(home=home, environ={}), project)


def made_up(home: Path, client: str, kind: Kind) -> list[FileWish]:
    """A home with the files of one client of that kind; returns what we wish for in it."""
    home.mkdir()
    wanted = wishes(home, client)
    for path, wish in by_file(wanted).items():
        kind.make(path, wish)
    return wanted


def by_file(wanted: Sequence[FileWish]) -> dict[Path, FileWish]:
    """What we wish for in each file, all parts of a client together."""
    found: dict[Path, FileWish] = {}
    for wish in wanted:
        so_far = found.get(wish.path, replace(wish, entries=[], hooks=[]))
        found[wish.path] = replace(wish, entries=[*so_far.entries, *wish.entries], hooks=[*so_far.hooks, *wish.hooks])
    return found


def snapshot(home: Path) -> Snapshot:
    """All that is in a home."""
    found: Snapshot = {}
    for path in sorted(home.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path)] = ("link", str(path.readlink()).encode(), 0)
        elif stat.S_ISDIR(mode):
            found[str(path)] = ("folder", b"", 0)
        else:
            found[str(path)] = ("file", path.read_bytes(), stat.S_IMODE(mode))
    return found


# --- What somebody else has in such a file ------------------------------------------------------------------------


def foreign(wish: FileWish) -> Json:
    """Other servers, other hooks of our events and of theirs, settings, and letters beyond ASCII."""
    others: Json = {"theme": "dünkel", "list": [1, 2.5, None, True], "nested": {"a": {"b": []}}}
    for row in _rows(wish):
        inner = others
        for key in row:
            inner = inner.setdefault(key, {})
        inner["other"] = {"command": "npx", "args": ["-y", "other"], "env": {"KEY": "s3cret"}}
    for hook in wish.hooks[:2]:
        inner = others
        for key in hook.path[:-1]:
            inner = inner.setdefault(key, {})
        inner[hook.path[-1]] = [_of_others(hook.item)]
    return others


def _rows(wish: FileWish) -> list[Sequence[str]]:
    files = read_contract(wish.client)["files"]["mcp"]
    return [files[wish.scope]["keys"]] if any(not entry.is_scaffold for entry in wish.entries) else []


def _of_others(item: Mapping[str, Json]) -> Json:
    if "hooks" in item:
        return {"matcher": "Bash", "hooks": [{"type": "command", "command": "~/bin/lint --fast"}]}
    return {"command": "~/bin/lint --fast"}


_TOML = """\
# Mine, and it stays.
model = "gpt-5" # the fast one

[projects."/home/me/app"]
trust_level = "trusted"

[mcp_servers.other]
command = "npx"
args = [
  "-y", # yes
  "other",
]

[mcp_servers.other.env]
KEY = \"\"\"
[mcp_servers.agent-mail]
\"\"\"

[[profiles]]
name = 'a'
"""


def text_of(wish: FileWish, *, indent: int | str = 2) -> str:
    """A file of somebody else's, laid out well."""
    if wish.file_format is FileFormat.TOML:
        return _TOML
    if wish.file_format is FileFormat.FILE:
        return ""
    return json.dumps(foreign(wish), indent=indent, ensure_ascii=False) + "\n"


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(0o640)


def _absent(_path: Path, _wish: FileWish) -> None:
    pass


def _empty(path: Path, _wish: FileWish) -> None:
    _write(path, b"")


def _foreign(path: Path, wish: FileWish) -> None:
    _write(path, text_of(wish).encode())


def _comments(path: Path, wish: FileWish) -> None:
    if wish.file_format is not FileFormat.JSON:
        _foreign(path, wish)
        return
    lines = text_of(wish).split("\n")
    lines[0] += " // the top"
    lines.insert(1, '  /* "mcpServers": { "agent-mail": {} } */')
    # A trailing comma, and a comment after it.
    lines[-3] += ", // the last"
    lines.insert(-2, "  // and the end")
    _write(path, ("// mine\n" + "\n".join(lines)).encode())


def _tabs(path: Path, wish: FileWish) -> None:
    _write(path, text_of(wish, indent="\t").replace("  ", "\t").encode())


def _crlf(path: Path, wish: FileWish) -> None:
    _write(path, text_of(wish).replace("\n", "\r\n").encode())


def _bom(path: Path, wish: FileWish) -> None:
    text = text_of(wish)
    # tomllib, as TOML, knows no mark; Codex's reader skips it.
    _write(path, b"\xef\xbb\xbf" + text.encode() if text else b"")


def _no_last_newline(path: Path, wish: FileWish) -> None:
    _write(path, text_of(wish).rstrip("\n").encode())


def _tables(path: Path, wish: FileWish) -> None:
    """Our own table, or object, is there in another form: of a proxy that was set up by hand."""
    if wish.file_format is FileFormat.TOML:
        more = '\n[mcp_servers.agent-mail] # by hand\ncommand = "am"\nargs = ["serve", "--stdio"]\nmine = true\n'
        _write(path, (text_of(wish) + more).encode())
        return
    if wish.file_format is FileFormat.FILE or not _rows(wish):
        _foreign(path, wish)
        return
    others = foreign(wish)
    inner = others
    for key in _rows(wish)[0]:
        inner = inner[key]
    inner["agent-mail"] = {"command": "am", "args": ["serve", "--stdio"], "mine": True, "headers": {"X-Mine": "1"}}
    _write(path, (json.dumps(others, indent=4) + "\n").encode())


def _link(path: Path, wish: FileWish) -> None:
    target = path.parent / f"dotfiles-{path.name}"
    _foreign(target, wish)
    path.symlink_to(target.name)


def _read_only(path: Path, wish: FileWish) -> None:
    _foreign(path, wish)
    path.chmod(0o440)


def _broken(path: Path, wish: FileWish) -> None:
    if wish.file_format is FileFormat.FILE:
        _write(path, b"#!/bin/sh\necho of somebody else\n")
        return
    text = text_of(wish)
    at = text.index("\n", len(text) // 2)
    _write(path, (text[:at] + "\n]]} = oops\n" + text[at:]).encode())


KINDS = (
    Kind("absent", _absent),
    Kind("empty", _empty),
    Kind("foreign entries", _foreign),
    Kind("comments", _comments),
    Kind("tabs", _tabs),
    Kind("crlf", _crlf),
    Kind("bom", _bom),
    Kind("no last newline", _no_last_newline),
    Kind("tables", _tables),
    Kind("link", _link),
    Kind("read-only", _read_only, is_refused=True),
    Kind("broken", _broken, is_refused=True),
)

CASES = [(client, kind) for client in CLIENTS for kind in KINDS]
