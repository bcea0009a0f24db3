from __future__ import annotations

import stat
from pathlib import Path

from tests.cli.shell import Shell


def _project(shell: Shell) -> str:
    return str(shell.context().settings.agent_mail_project)


def test_a_bundle_is_signed_and_verified_beside_a_server_and_without_one(either: Shell, tmp_path: Path) -> None:
    key, out = str(tmp_path / "key"), str(tmp_path / "out")
    made = either.am("share", "keygen", key, "--json").json()
    exported = either.am("share", "export", out, "-p", _project(either), "--sign", key, "--json").json()
    again = either.am("share", "export", out, "-p", _project(either), "--sign", key, "--json").json()
    verified = either.am("share", "verify", out, "--key", made["public_key"])
    unsigned = either.am("share", "verify", out)

    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert exported["messages"] >= 3
    assert exported["changed"] == exported["files"]
    assert (again["changed"], again["removed"]) == (0, 0)
    assert ["signature", f"by {made['public_key']}"] in verified.lines()
    assert unsigned.code == 0
    assert "without --key only that it is whole" in unsigned.out
    assert _project(either) not in "".join(path.read_text() for path in (tmp_path / "out").rglob("*.html"))


def test_a_changed_byte_ends_a_verify_with_1_and_names_the_file(at_stopped: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert at_stopped.am("share", "export", str(out), "-p", _project(at_stopped)).code == 0
    page = out / "index.html"
    page.write_bytes(page.read_bytes().replace(b"Shared", b"Scared", 1))

    ended = at_stopped.am("share", "verify", str(out))

    assert ended.code == 1
    assert "index.html is changed" in ended.err
    assert "Hint:" in ended.err
