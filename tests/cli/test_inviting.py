from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import am


@pytest.mark.parametrize("hours", ["0", "-1", "721"])
def test_the_hours_of_an_invitation_are_refused_by_the_options_own_name(hours: str, tmp_path: Path) -> None:
    done = am("projects", "invite", "/code/app", "--hours", hours, home=tmp_path)

    assert done.returncode == 2
    assert "--hours takes 1 to 720" in done.stderr
