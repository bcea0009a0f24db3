"""One commit as a stream for `git fast-import`, and its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mcp_agent_mail.archive.repository import BRANCH, Repository
from mcp_agent_mail.core.clock import SECOND, Micros

_MODE = "100644"
_NOT_IN_IDENT = str.maketrans("", "", "<>\n\r\0")

# Without core.fsync=all Git syncs the pack but not the branch that points to it.
_CONFIG = ("core.fsync=all", "fastimport.unpackLimit=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    name: str
    email: str

    def at(self, when: Micros) -> bytes:
        name = self.name.translate(_NOT_IN_IDENT).strip() or "unknown"
        email = self.email.translate(_NOT_IN_IDENT).strip()
        return f"{name} <{email}> {when // SECOND} +0000".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCommit:
    files: Mapping[str, bytes]
    message: str
    author: Signature
    committer: Signature
    at: Micros


def import_commit(repository: Repository, commit: NewCommit, *, onto_tip: bool) -> str:
    """Add one commit on top of the branch, on disk when this returns (folders apart); its id.

    Git reads the tip itself and refuses when the branch has moved meanwhile, so a person's
    commit is never lost.
    """
    stream = b"".join(_stream(commit, onto_tip=onto_tip))
    return repository.git("fast-import", "--quiet", "--done", stdin=stream, config=_CONFIG).decode().strip()


def _stream(commit: NewCommit, *, onto_tip: bool) -> Iterator[bytes]:
    marks: dict[bytes, int] = {}
    for content in commit.files.values():
        if content not in marks:
            marks[content] = len(marks) + 1
            yield b"blob\nmark :%d\n" % marks[content]
            yield _data(content)
    own_mark = len(marks) + 1
    yield b"commit %s\nmark :%d\n" % (BRANCH.encode(), own_mark)
    yield b"author %s\ncommitter %s\n" % (commit.author.at(commit.at), commit.committer.at(commit.at))
    yield _data(commit.message.encode())
    if onto_tip:
        yield b"from %s^0\n" % BRANCH.encode()
    for path, content in commit.files.items():
        yield b"M %s :%d %s\n" % (_MODE.encode(), marks[content], path.encode())
    yield b"\nget-mark :%d\ndone\n" % own_mark


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)
