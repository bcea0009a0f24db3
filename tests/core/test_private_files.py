"""Small files beside a store: private, whole, and nothing left of a try that failed."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from mcp_agent_mail.core.plain_files import UnfitPlace
from mcp_agent_mail.core.private_files import replace_private


def test_it_is_whole_and_this_users_alone(tmp_path: Path) -> None:
    replace_private(tmp_path / "server.json", "old")
    replace_private(tmp_path / "server.json", "new")

    (path,) = tmp_path.iterdir()
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o600)


def test_what_tries_of_earlier_times_left_goes(tmp_path: Path) -> None:
    for name in ("server.json.4711", ".server.json.12", ".server.json.new"):
        (tmp_path / name).touch()
    (tmp_path / "server.json.kept").touch()

    replace_private(tmp_path / "server.json", "new")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["server.json", "server.json.kept"]


def test_a_try_that_fails_leaves_nothing_beside_and_the_file_as_it_was(tmp_path: Path) -> None:
    replace_private(tmp_path / "server.json", "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            replace_private(tmp_path / "server.json", "new")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)

    (path,) = tmp_path.iterdir()
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["operator.token", ".operator.token.new"])
def test_a_folder_in_its_place_or_beside_it_is_named_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    with pytest.raises(UnfitPlace, match="is a folder") as refused:
        replace_private(tmp_path / "operator.token", "new")

    assert str(tmp_path / name) in refused.value.message
    assert list(tmp_path.iterdir()) == [tmp_path / name]
