"""Two clones and a linked work tree of one project, guarded by what `am guard install` writes, and a real server.

BlueLake works in `one` and in its linked work tree, RedStone in `two`. RedStone holds `src/held.py` exclusively.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.served import Served

WITHIN_S = 60.0
_KEPT = ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_CONFIG")

_USER = """
[user]
    name = Grace
    email = grace@example.com
[init]
    defaultBranch = main
[pull]
    rebase = false
"""

Answer = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Work:
    folder: Path
    server: Served

    @property
    def one(self) -> Path:
        return self.folder / "one"

    @property
    def two(self) -> Path:
        return self.folder / "two"

    @property
    def linked(self) -> Path:
        return self.folder / "linked"

    @property
    def records(self) -> Path:
        return self.folder / "records"

    def environment(self, agent: str | None, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        path = f"{self.folder / 'bin'}:{kept['PATH']}"
        settings = {"STORAGE_ROOT": str(self.server.root), "HOME": str(self.folder), "RECORDS": str(self.records)}
        who = {"AGENT_NAME": agent} if agent else {}
        return {**kept, "PATH": path, **settings, **who, **more}

    def run(self, *command: str, cwd: Path, agent: str | None = None, **env: str) -> Answer:
        return subprocess.run(
            command,
            cwd=cwd,
            env=self.environment(agent, **env),
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def git(self, *arguments: str, cwd: Path, agent: str | None = None) -> str:
        """Must succeed."""
        done = self.run("git", *arguments, cwd=cwd, agent=agent)
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def try_commit(self, cwd: Path, agent: str | None, *paths: str, **env: str) -> Answer:
        """Change `paths` (their names stay), stage them and commit; a refused change is taken back."""
        for path in paths:
            (cwd / path).parent.mkdir(exist_ok=True)
            with (cwd / path).open("a") as file:
                file.write(f"{agent}\n")
        self.git("add", "--", *paths, cwd=cwd)
        done = self.run("git", "commit", "--quiet", "-m", f"work of {agent}", cwd=cwd, agent=agent, **env)
        if done.returncode != 0:
            self.git("reset", "--quiet", "--hard", cwd=cwd)
        return done

    def must_commit(self, cwd: Path, agent: str | None, *paths: str) -> None:
        done = self.try_commit(cwd, agent, *paths)
        assert done.returncode == 0, done.stdout + done.stderr

    def guard(self, command: str, cwd: Path, *options: str) -> Any:
        done = self.run(sys.executable, "-m", "mcp_agent_mail", "guard", command, *options, "--json", cwd=cwd)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def head(self, cwd: Path) -> str:
        return self.git("rev-parse", "HEAD", cwd=cwd).strip()

    def told(self) -> list[str]:
        """What the former hooks wrote down, and forget it."""
        path = self.records / "former"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines


def hook_files(top: Path) -> dict[str, tuple[bytes, int, str | None]]:
    """Bytes, mode and target of every hook in the folders where tools put them."""
    found = {}
    for folder in (top / ".git" / "hooks", top / ".husky"):
        for path in sorted(folder.rglob("*")):
            if path.suffix != ".sample" and (path.is_file() or path.is_symlink()):
                target = str(path.readlink()) if path.is_symlink() else None
                found[str(path.relative_to(top))] = (path.read_bytes(), path.stat().st_mode, target)
    return found


def begin(folder: Path, server: Served, prepare: Callable[[Work, Path], None]) -> Work:
    """Everything up to, and without, the guard; `prepare` puts a hook tool into a clone."""
    work = Work(folder, server)
    for name in ("bin", "records"):
        (folder / name).mkdir()
    (folder / ".gitconfig").write_text(_USER)
    work.git("init", "--quiet", "--bare", "origin.git", cwd=folder)
    work.git("clone", "--quiet", "origin.git", "one", cwd=folder)
    for path in ("src/held.py", "src/free.py", "notes.md"):
        (work.one / path).parent.mkdir(exist_ok=True)
        (work.one / path).write_text("begin\n")
    work.git("add", ".", cwd=work.one)
    work.git("commit", "--quiet", "-m", "begin", cwd=work.one)
    work.git("push", "--quiet", "origin", "main", cwd=work.one)
    work.git("clone", "--quiet", "origin.git", "two", cwd=folder)
    for clone in (work.one, work.two):
        prepare(work, clone)
    work.git("worktree", "add", "--quiet", "-b", "linked", str(work.linked), cwd=work.one)
    _register(work)
    return work


def _register(work: Work) -> None:
    with work.server.connect() as connection:
        connection.call("ensure_project", human_key=str(work.one))
        for name in ("BlueLake", "RedStone"):
            connection.call("register_agent", project_key=str(work.one), name=name, program="tests", model="none")
        granted = connection.call(
            "file_reservation_paths",
            project_key=str(work.one),
            agent_name="RedStone",
            paths=["src/held.py"],
            exclusive=True,
            ttl_seconds=3600,
            reason="the parser",
        )
    assert [grant["path_pattern"] for grant in granted["granted"]] == ["src/held.py"]


def install_everywhere(work: Work) -> None:
    """In one clone as an agent does, over MCP; in the other as a person does."""
    with work.server.connect() as connection:
        installed = connection.call("install_precommit_guard", project_key=str(work.one), code_repo_path=str(work.one))
    assert installed["status"] in ("installed", "chained")
    by_hand = work.guard("install", work.two, "--project", str(work.one))
    assert by_hand["note"] is None
    assert [work.guard("status", top)["problems"] for top in (work.one, work.two, work.linked)] == [[], [], []]


# --- The day's work ---------------------------------------------------------------------------------------------------


def commits_are_judged(work: Work) -> None:
    work.must_commit(work.one, "BlueLake", "src/free.py")
    work.must_commit(work.two, "RedStone", "src/held.py")
    before = {top: work.head(top) for top in (work.one, work.linked)}

    for top in before:
        refused = work.try_commit(top, "BlueLake", "src/held.py", "src/free.py")
        assert refused.returncode == 1, refused.stderr
        assert "src/held.py" in refused.stderr
        assert "RedStone" in refused.stderr
        assert "the parser" in refused.stderr
    assert {top: work.head(top) for top in before} == before
    warned = work.try_commit(work.linked, "BlueLake", "src/held.py", AGENT_MAIL_BYPASS="1")
    assert warned.returncode == 0, warned.stderr
    assert "AGENT_MAIL_BYPASS" in warned.stderr


def a_rename_counts_for_both_names(work: Work) -> None:
    for old, new in (("src/held.py", "src/elsewhere.py"), ("notes.md", "src/held2.py")):
        work.git("mv", old, new, cwd=work.one)
        done = work.run("git", "commit", "--quiet", "-m", "rename", cwd=work.one, agent="BlueLake")
        work.git("reset", "--quiet", "--hard", "HEAD" if done.returncode else "HEAD~1", cwd=work.one)
        assert done.returncode == (1 if old == "src/held.py" else 0), done.stderr


def a_merge_and_a_rebase_bring_the_other_side(work: Work) -> None:
    """What only comes from the other side is nobody's to refuse: not in a clean merge, not in one with conflicts."""
    work.git("push", "--quiet", "origin", "main", cwd=work.two, agent="RedStone")
    work.git("pull", "--quiet", "--no-edit", "origin", "main", cwd=work.one, agent="BlueLake")
    assert "RedStone" in (work.one / "src/held.py").read_text()

    work.must_commit(work.two, "RedStone", "src/held.py", "notes.md")
    work.git("push", "--quiet", "origin", "HEAD:refs/heads/theirs", cwd=work.two, agent="RedStone")
    work.must_commit(work.one, "BlueLake", "notes.md")
    work.git("fetch", "--quiet", "origin", cwd=work.one)
    conflict = work.run("git", "merge", "origin/theirs", cwd=work.one, agent="BlueLake")
    assert conflict.returncode == 1, conflict.stdout
    (work.one / "notes.md").write_text("both\n")
    work.git("add", "notes.md", cwd=work.one)
    work.git("commit", "--quiet", "--no-edit", cwd=work.one, agent="BlueLake")

    work.git("switch", "--quiet", "-c", "rebased", "HEAD~1", cwd=work.one)
    work.must_commit(work.one, "BlueLake", "src/free.py")
    work.git("rebase", "--quiet", "main", cwd=work.one, agent="BlueLake")
    work.git("switch", "--quiet", "main", cwd=work.one)
    work.git("merge", "--quiet", "--ff-only", "rebased", cwd=work.one, agent="BlueLake")


def pushes_are_judged(work: Work) -> None:
    work.git("push", "--quiet", "origin", "main", cwd=work.one, agent="BlueLake")
    with (work.one / "src/held.py").open("a") as file:
        file.write("past the guard\n")
    work.git("commit", "--quiet", "--no-verify", "-a", "-m", "past the guard", cwd=work.one, agent="BlueLake")

    refused = work.run("git", "push", "origin", "main", cwd=work.one, agent="BlueLake")

    assert refused.returncode == 1, refused.stderr
    assert "src/held.py" in refused.stderr
    work.git("reset", "--quiet", "--hard", "origin/main", cwd=work.one)


def the_server_goes_down(work: Work) -> None:
    work.server.await_drained()
    work.server.stop()

    refused = work.try_commit(work.one, "BlueLake", "src/held.py")

    assert refused.returncode == 1, refused.stderr
    assert "snapshot" in refused.stderr
    work.must_commit(work.one, "BlueLake", "src/free.py")


def the_guard_goes(work: Work) -> None:
    assert [work.guard("uninstall", top) for top in (work.one, work.two)] == [{"removed": True, "left": []}] * 2
    assert "agent-mail" not in work.git("config", "--local", "--list", cwd=work.one)

    for top in (work.one, work.linked):
        work.must_commit(top, "BlueLake", "src/held.py")
