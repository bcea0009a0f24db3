"""A code repository as an attacker leaves it: whatever Git can be told to run is told to leave a mark.

The attacker controls every byte of the work tree and of `.git`. Each payload appends its own name to a file, so that
a test can say which of them ran; a victim's folder beside the repository shows whether anything was written outside.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

SETTINGS = (
    "core.fsmonitor",
    "core.sshCommand",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.evil.textconv",
    "diff.evil.command",
    "merge.evil.driver",
    "mergetool.evil.cmd",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "credential.https://example.org.helper",
    "uploadpack.packObjectsHook",
    "sequence.editor",
    "interactive.diffFilter",
    "pager.log",
    "pager.config",
    "pager.ls-files",
    "pager.rev-parse",
    "pager.diff-index",
    "trailer.evil.command",
    "trailer.evil.cmd",
    "browser.evil.cmd",
    "man.evil.cmd",
    "web.browser",
    "sendemail.sendmailcmd",
    "remote.evil.uploadpack",
    "remote.evil.receivepack",
    "diff.tool",
    "difftool.evil.cmd",
    "guitool.evil.cmd",
    "hook.evil.command",
)
"""Each names a program; those with a name of their own below name it through something else."""

ALIASES = ("config", "rev-parse", "ls-files", "rev-list", "diff-index", "log", "symbolic-ref", "var", "st")

HOOKS = (
    *("pre-commit", "pre-push", "post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman"),
    *("post-commit", "post-rewrite", "pre-auto-gc", "prepare-commit-msg", "commit-msg", "post-merge"),
)

ATTRIBUTES = "* filter=evil diff=evil merge=evil\n"


@dataclass(frozen=True, slots=True)
class Hostile:
    """`marks` holds a file per payload that ran, `victim` is a folder of somebody else's."""

    top: Path
    marks: Path
    victim: Path
    home: Path

    @property
    def git_dir(self) -> Path:
        return self.top / ".git"

    def ran(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())

    def forget(self) -> None:
        for path in self.marks.iterdir():
            path.unlink()

    def git(self, *arguments: str, must: bool = True) -> str:
        """As the attacker prepares it, or as its victim would run Git by hand."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.top,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not must, f"git {arguments}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def payload(self, name: str) -> str:
        """A program, without arguments of its own, that leaves the mark `name`."""
        program = self.home / "payloads" / name.replace("/", "_")
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n: >> '{self.marks / program.name}'\nexit 1\n")
        program.chmod(0o755)
        return str(program)


def plain_repository(folder: Path) -> Hostile:
    """Two commits and a file each of staged, changed and new; nothing hostile yet."""
    found = Hostile(folder / "code", folder / "marks", folder / "victim", folder / "home")
    for place in (found.top / "src", found.marks, found.victim / "hooks", found.home):
        place.mkdir(parents=True)
    (found.victim / "file").write_text("the victim's\n")
    found.git("init", "-q", "-b", "main")
    for name, value in (("user.name", "Mallory"), ("user.email", "mallory@example.com")):
        found.git("config", name, value)
    for number in (1, 2):
        (found.top / "src" / "app.py").write_text(f"number = {number}\n")
        found.git("add", "-A")
        found.git("commit", "-q", "-m", f"commit {number}")
    (found.top / "src" / "staged.py").write_text("staged\n")
    found.git("add", "-A")
    (found.top / "src" / "app.py").write_text("changed\n")
    (found.top / "src" / "new.py").write_text("new\n")
    return found


def hostile_repository(folder: Path, *, missing: str = "HEAD~1:src") -> Hostile:
    """All of it at once; `missing` is a tree that is to be fetched from a promisor."""
    found = plain_repository(folder)
    tree = found.git("rev-parse", missing)
    (found.top / ".gitattributes").write_text(ATTRIBUTES)
    (found.git_dir / "info").mkdir(exist_ok=True)
    (found.git_dir / "info" / "attributes").write_text(ATTRIBUTES)
    for hook in HOOKS:
        path = found.git_dir / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n: >> '{found.marks}/hook.{hook}'\n")
        path.chmod(0o755)
    if missing.startswith("HEAD:"):
        # The index keeps the ids of trees: without it the missing one has to be read.
        (found.git_dir / "index").unlink()
    # A promisor that is asked for what is missing, twice over: by a program of its own, and over ssh.
    (found.git_dir / "objects" / tree[:2] / tree[2:]).unlink()
    with (found.git_dir / "config").open("a") as config:
        config.write(_config(found))
    included = found.top / "included.config"
    included.write_text(
        f'[alias]\n\tinc = "!{found.payload("include.path")}"\n[core]\n\tpager = {found.payload("include.pager")}\n'
    )
    (found.git_dir / "config.worktree").write_text(
        f"[core]\n\tfsmonitor = {found.payload('config.worktree.fsmonitor')}\n"
        f"\tsshCommand = {found.payload('config.worktree.sshCommand')}\n"
    )
    return found


def _config(found: Hostile) -> str:
    lines = ["[core]\n\trepositoryformatversion = 1\n\tattributesFile = .gitattributes\n"]
    for name in SETTINGS:
        section, _, rest = name.partition(".")
        sub, _, key = rest.rpartition(".")
        lines.append(f'[{section} "{sub}"]\n' if sub else f"[{section}]\n")
        lines.append(f"\t{key} = {found.payload(name)}\n")
    lines.append("[alias]\n")
    lines += [f'\t{alias} = "!{found.payload(f"alias.{alias}")}"\n' for alias in ALIASES]
    lines.append(
        "[extensions]\n\tpartialClone = evil\n\tworktreeConfig = true\n"
        "[protocol]\n\tallow = always\n"
        f'[remote "evil"]\n\turl = "ext::{found.payload("remote.ext-url")} %S"\n\tpromisor = true\n\tvcs = evil\n'
        '[remote "second"]\n\turl = ssh://example.org/x\n\tpromisor = true\n'
        f'[url "ext::{found.payload("url.insteadOf")} %S"]\n\tinsteadOf = https://example.org/\n'
        f'[submodule "part"]\n\tupdate = "!{found.payload("submodule.update")}"\n\turl = ext::sh\n'
        f"[init]\n\ttemplateDir = {found.top}\n"
        "[log]\n\tshowSignature = true\n[diff]\n\tsubmodule = log\n[gc]\n\tauto = 1\n"
        f"[include]\n\tpath = {found.top}/included.config\n"
        f'[includeIf "gitdir:{found.top}/"]\n\tpath = {found.top}/included.config\n'
        '[remote "origin"]\n\turl = https://example.org/team/app\n[agent-mail]\n\tname = BlueLake\n'
    )
    return "".join(lines)
