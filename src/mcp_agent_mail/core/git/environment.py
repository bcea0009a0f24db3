"""The one environment of every Git run of ours: what it is given, and that nothing else decides what runs.

Git runs what a repository, a user or a variable names: hooks, monitors, filters, transports, editors, pagers, helpers.
Three things together keep it from that. Variables: none of `GIT_*` from outside, no protocol, no lazy fetch.
Settings on the command line, which go before those of any file. And a Git directory whose configuration is ours:
an archive's, or a shadow, since neither variables nor settings can switch off a driver or a remote of unknown name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.settings.names import SECRETS

_FAILS = "false"
"""The program in place of any that Git might start: it ends with an error, so that nothing seems to have worked."""

_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    f"core.sshCommand={_FAILS}",
    f"core.gitProxy={_FAILS}",
    f"core.askPass={_FAILS}",
    f"core.editor={_FAILS}",
    "core.pager=cat",
    f"core.alternateRefsCommand={_FAILS}",
    "credential.helper=",
    "protocol.allow=never",
    *(f"protocol.{name}.allow=never" for name in ("file", "git", "ssh", "http", "https", "ext")),
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "log.showSignature=false",
    "commit.gpgSign=false",
    *(f"gpg.{kind}program={_FAILS}" for kind in ("", "openpgp.", "x509.", "ssh.")),
    "gc.auto=0",
    "maintenance.auto=false",
    # Git tells of GIT_GRAFT_FILE, below, on every run: six lines before the reason of a failure.
    "advice.graftFileDeprecated=false",
)

_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PROTOCOL_FROM_USER": "0",
    # Known to newer Git alone. An older one is kept from fetching by what stands above and below it.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": _FAILS,
    "GIT_SSH_COMMAND": _FAILS,
    "GIT_EDITOR": _FAILS,
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_WITHOUT_CONFIG = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_GLOBAL": os.devnull}
_RUN_BY_GIT = {"PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "BROWSER"}


def scrubbed_environment(source: Mapping[str, str], *, user_config: bool = False) -> dict[str, str]:
    """`source` without `GIT_*` (a hook's GIT_DIR would redirect every command), programs and secrets; and ours."""
    dropped = SECRETS | _RUN_BY_GIT
    kept = {name: value for name, value in source.items() if not name.startswith("GIT_") and name not in dropped}
    return kept | _VARIABLES | ({} if user_config else _WITHOUT_CONFIG)


def command_line(arguments: Sequence[str], config: Sequence[str] = ()) -> list[str]:
    """Git with our settings, then with `config` (`name=value`), which goes before ours."""
    settings = [part for entry in (*_SETTINGS, *config) for part in ("-c", entry)]
    return ["git", *settings, *arguments]


@dataclass(frozen=True, slots=True, kw_only=True)
class GitPlace:
    """Where a run reads and writes: named, never discovered.

    `borrowed`: folders of objects that are read beside `git_dir`'s own, never written. They are data to Git: it
    reads no configuration there.

    `is_foreign`: what is read there is a stranger's. Of a few bytes of an index Git may make any number in memory, so
    that is bounded (where the system can).
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None
    borrowed: tuple[Path, ...] = ()
    is_foreign: bool = False

    def arguments(self) -> tuple[str, ...]:
        named = (f"--git-dir={self.git_dir}",)
        return named if self.work_tree is None else (*named, f"--work-tree={self.work_tree}")

    def variables(self) -> dict[str, str]:
        """What Git is told of the index and the borrowed folders, to be added to a scrubbed environment, which lacks
        all `GIT_*`.
        """
        found = {} if self.index is None else {"GIT_INDEX_FILE": str(self.index)}
        if self.borrowed:
            found["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(map(_quoted, self.borrowed))
        return found


def _quoted(path: Path) -> str:
    """Git takes a name that begins with a quotation mark apart as C does: a colon in it does not end it."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
