"""Which files a commit or a push changes by its maker's own hand (docs/adr/0071)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from mcp_agent_mail.core.plain_files import read_plain
from mcp_agent_mail.guard.git import Git, GitRefused, line_of, names_of, text_of
from mcp_agent_mail.guard.repository import CheckoutLayout

MAX_COMMITS = 2_000
"""Of one push. Beyond, the guard has not seen everything, and says so."""

# Renames as a deletion and an addition: both names, and no search for likeness, which takes seconds on large commits.
_CHANGED = ("--no-renames", "--name-only", "-z", "--ignore-submodules=none", "--no-ext-diff", "--no-relative")

_MAX_COMMITS_BYTES = 64 * 1024
_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class TooManyChanges(Exception):
    """There was more than the guard looks at."""


def staged_paths(git: Git, repository: CheckoutLayout) -> list[str]:
    """What differs between the index and HEAD, but for what came unchanged from another existing commit.

    While a merge, a cherry-pick or a rebase is under way, a path whose staged content is that of the
    other side was not made by this commit; a path that differs from all sides was.
    """
    paths = _staged_against(git, "HEAD")
    for source in _other_sides(repository):
        if not paths:
            break
        changed_here = set(_staged_against(git, source))
        paths = [path for path in paths if path in changed_here]
    return paths


def _staged_against(git: Git, commit: str) -> list[str]:
    arguments = ("diff-index", "--cached", *_CHANGED)
    code, said, complaint = git.try_(*arguments, commit, "--")
    if code == 0:
        return names_of(said)
    if commit == "HEAD" and git.try_("rev-parse", "-q", "--verify", "HEAD")[0] != 0:
        # The first commit of a branch: against nothing at all.
        empty = line_of(git.ask("hash-object", "-t", "tree", "--stdin"))
        return names_of(git.ask(*arguments, empty, "--"))
    raise GitRefused(f"git diff-index: {complaint.decode('utf-8', 'replace').strip()}")


def _other_sides(repository: CheckoutLayout) -> Iterator[str]:
    folder = Path(repository.git_dir)
    yield from _commits_in(folder / "MERGE_HEAD")
    yield from _commits_in(folder / "CHERRY_PICK_HEAD")
    if (folder / "rebase-merge").is_dir() or (folder / "rebase-apply").is_dir():
        yield from _commits_in(folder / "REBASE_HEAD")


def _commits_in(file: Path) -> list[str]:
    """Raises UnfitFile, and GitRefused for what is no list of commits: a word of it could be an option."""
    words = text_of(read_plain(str(file), _MAX_COMMITS_BYTES) or b"").split()
    if not all(_ID.fullmatch(word) for word in words):
        raise GitRefused(f"{file} holds something that is no commit")
    return words


class Pusher(NamedTuple):
    """Who pushes: the agent's name, and Git's author `name <email>` as it would stand on a commit made now."""

    agent: str | None
    author: tuple[str, str] | None


class _Commit(NamedTuple):
    id: str
    parents: list[str]
    author: tuple[str, str]
    paths: list[str]


class PushedRef(NamedTuple):
    """A line of what Git tells pre-push. An id of nothing but zeros is a ref that is not there."""

    local_id: str
    remote_id: str

    @property
    def is_deletion(self) -> bool:
        return not self.local_id.strip("0")

    @property
    def is_new(self) -> bool:
        return not self.remote_id.strip("0")


def read_refs(stdin: bytes) -> list[PushedRef]:
    """`<local ref> <local id> <remote ref> <remote id>`, a line per ref."""
    refs = []
    for line in stdin.splitlines():
        words = text_of(line).rsplit(" ", 3)
        if len(words) != 4:
            raise GitRefused("pre-push was told something that is no list of refs")
        _, local_id, _, remote_id = words
        if not (_ID.fullmatch(local_id) and _ID.fullmatch(remote_id)):
            raise GitRefused("pre-push was told something that is no list of refs")
        refs.append(PushedRef(local_id=local_id, remote_id=remote_id))
    return [ref for ref in refs if not ref.is_deletion]


def pushed_paths(git: Git, refs: list[PushedRef], remote: str, pusher: Pusher) -> list[str]:
    """What the pusher's own commits change that the remote does not have yet, each path once.

    Of a merge commit only what differs from all its parents. Raises TooManyChanges beyond MAX_COMMITS.
    """
    tips = _tips(git, refs)
    if not tips:
        return []
    commits = _new_commits(git, tips, refs, remote)
    trunk = _first_parents(tips, commits)
    own = (commit for commit in commits.values() if _is_own(commit, pusher, is_on_trunk=commit.id in trunk))
    return list(dict.fromkeys(path for commit in own for path in commit.paths))


def _tips(git: Git, refs: list[PushedRef]) -> list[str]:
    """The commits that are pushed; a tag is followed to its commit, one of no commit has nothing to check."""
    tips = []
    for ref in refs:
        code, said, _ = git.try_("rev-parse", "-q", "--verify", f"{ref.local_id}^{{commit}}")
        if code == 0:
            tips.append(line_of(said))
    return tips


def _new_commits(git: Git, tips: list[str], refs: list[PushedRef], remote: str) -> dict[str, _Commit]:
    known = [ref.remote_id for ref in refs if not ref.is_new]
    # After a forced push by somebody else their commit is not here: then only what we knew of the remote counts.
    here = [commit for commit in known if git.try_("cat-file", "-e", f"{commit}^{{commit}}")[0] == 0]
    of_remote = f"--remotes={remote}" if _is_name(remote) else "--remotes"
    mark = f"\x01{os.urandom(8).hex()} "
    said = git.ask(
        "log", "-z", "-c", f"--max-count={MAX_COMMITS + 1}", "--no-show-signature", "--no-color", *_CHANGED,
        f"--format={mark}%H %P%x02%an%x02%ae", *tips, "--not", *here, of_remote, "--",
    )  # fmt: skip
    commits = {commit.id: commit for commit in _parsed(said, mark)}
    if len(commits) > MAX_COMMITS:
        raise TooManyChanges(f"the push holds more than {MAX_COMMITS} new commits")
    return commits


def _is_name(remote: str) -> bool:
    """A remote's name; a push to a bare URL has none."""
    return (
        bool(remote) and not any(character in remote for character in ":*?[\\ ") and not remote.startswith((".", "/"))
    )


def _parsed(said: bytes, mark: str) -> Iterable[_Commit]:
    commit: _Commit | None = None
    for field in said.split(b"\0"):
        text = text_of(field)
        if text.startswith(mark):
            if commit is not None:
                yield commit
            ids, name, email = text[len(mark) :].split("\x02", 2)
            commit_id, *parents = ids.split()
            commit = _Commit(id=commit_id, parents=parents, author=(name, email), paths=[])
        elif commit is not None and (path := text if commit.paths else text.removeprefix("\n")):
            commit.paths.append(path)
    if commit is not None:
        yield commit


def _first_parents(tips: list[str], commits: dict[str, _Commit]) -> set[str]:
    """The commits that were made on the pushed branches themselves, not merged into them."""
    trunk: set[str] = set()
    for tip in tips:
        at = tip
        while at in commits and at not in trunk:
            trunk.add(at)
            at = next(iter(commits[at].parents), "")
    return trunk


def _is_own(commit: _Commit, pusher: Pusher, *, is_on_trunk: bool) -> bool:
    """Whether the pusher made it: decided by the author. Agents that share one Git author are told apart by branch."""
    name, _ = commit.author
    if pusher.agent is not None and name.lower() == pusher.agent.lower():
        return True
    return is_on_trunk and (pusher.author is None or commit.author == pusher.author)


def author_of(git: Git) -> tuple[str, str] | None:
    """The author of a commit made now; None where Git has no identity to give."""
    code, said, _ = git.try_as_committer("var", "GIT_AUTHOR_IDENT")
    name, bracket, rest = line_of(said).partition(" <")
    return (name, rest.partition(">")[0]) if code == 0 and bracket else None
