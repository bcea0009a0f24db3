from __future__ import annotations

import subprocess
from pathlib import Path

from mcp_agent_mail.archive.transfer.export import export_history
from tests.archive.one_archive import IDENTITY, add_commit, begin

_FOLDER = "2026/11/0-499"
_NAME = "2026-11-21T21-00-00Z__plan__7.md"


def _mail(**said: str) -> bytes:
    head = {
        "attachments": "[]",
        "bcc": "[]",
        "cc": "[]",
        "from": '"Blue"',
        "id": "7",
        "recipients": "[]",
        "to": '["Red"]',
    }
    lines = ",\n".join(f'  "{key}": {value}' for key, value in sorted((head | said).items()))
    return f"---json\n{{\n{lines}\n}}\n---\nbody\n".encode()


def _log(path: Path, *arguments: str) -> list[str]:
    log = ["git", "-C", str(path), "log", "--format=", *arguments]
    return subprocess.run(log, check=True, capture_output=True, text=True).stdout.split("\n")


def _silent(done: int, total: int) -> None:
    assert done <= total


def _export(path: Path, tmp_path: Path) -> Path:
    made, scratch = tmp_path / "made", tmp_path / "scratch"
    made.mkdir()
    scratch.mkdir()
    export_history(path, made, scratch, is_exact=False, progress=_silent)
    return made


def test_what_took_the_place_of_something_shown_is_removed_where_it_is_hidden(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    receipts = "receipts/2026/11/21/1.jsonl"
    red = b'{"agent": "Red", "message_id": 7}\n'
    add_commit(repository, {"archive.json": IDENTITY, receipts: b'{"agent": "Blue", "message_id": 8}\n'}, seq=1)
    private = _mail(private="true")
    add_commit(repository, {f"messages/{_FOLDER}/{_NAME}": private, receipts: red}, seq=2)

    made = _export(path, tmp_path)

    assert [line for line in _log(made, "--name-status") if line] == [
        f"D\t{receipts}",
        "A\tarchive.json",
        f"A\t{receipts}",
    ]


def test_a_history_that_was_joined_stays_joined(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    first = add_commit(repository, {"archive.json": IDENTITY}, seq=1)
    git = ["git", "-C", str(path), "-c", "user.name=a", "-c", "user.email=a@b"]
    tree = subprocess.run([*git, "mktree"], input=b"", check=True, capture_output=True).stdout.decode().strip()
    root = subprocess.run([*git, "commit-tree", "-m", "other", tree], check=True, capture_output=True).stdout.decode()
    merge = [*git, "commit-tree", "-m", "join", "-p", first, "-p", root.strip(), f"{first}^{{tree}}"]
    joined = subprocess.run(merge, check=True, capture_output=True).stdout.decode().strip()
    repository.git("update-ref", "refs/heads/main", joined)

    made = _export(path, tmp_path)

    shape = ["log", "--format=%s %p", "--topo-order"]
    before = subprocess.run(["git", "-C", str(path), *shape], check=True, capture_output=True, text=True).stdout
    after = subprocess.run(["git", "-C", str(made), *shape], check=True, capture_output=True, text=True).stdout
    assert before == after


def test_a_mail_file_larger_than_any_mail_is_left_out(path: Path, tmp_path: Path) -> None:
    repository = begin(path)
    large = _mail() + b" " * (17 << 20)
    add_commit(repository, {"archive.json": IDENTITY, f"messages/{_FOLDER}/{_NAME}": large}, seq=1)

    made = _export(path, tmp_path)

    assert [line for line in _log(made, "--name-status") if line] == ["A\tarchive.json"]
