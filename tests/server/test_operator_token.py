"""The operator's token: in a file for as long as the server runs, for this user alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.server.operator_token import FILE_NAME, operator_token_file


def test_the_token_stands_in_a_file_that_its_owner_alone_may_read_and_goes_with_the_server(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME

    with operator_token_file(tmp_path) as token:
        written, mode = path.read_text(), path.stat().st_mode & 0o777

    assert token.startswith("amo_")
    assert (written, mode) == (f"{token}\n", 0o600)
    assert not path.exists()


def test_each_start_makes_a_token_of_its_own_over_what_a_crash_has_left(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_text("amo_left-by-a-crash\n")
    path.chmod(0o644)

    with operator_token_file(tmp_path) as first:
        mode = path.stat().st_mode & 0o777
    with operator_token_file(tmp_path) as second:
        pass

    assert mode == 0o600
    assert len({"amo_left-by-a-crash", first, second}) == 3


def test_the_file_goes_also_when_the_server_fails_and_when_somebody_took_it_before(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), operator_token_file(tmp_path):
        raise RuntimeError
    with operator_token_file(tmp_path):
        (tmp_path / FILE_NAME).unlink()

    assert list(tmp_path.iterdir()) == []
