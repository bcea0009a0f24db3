from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_agent_mail.archive.reading.hints import of_damaged, of_lost

PATH = Path("/store/projects/shop")


@pytest.mark.parametrize("said", [of_lost, of_damaged])
def test_with_a_database_a_repair_writes_it_again_and_nothing_is_given_up(said: Callable[..., str]) -> None:
    step = said(PATH, has_database=True)

    assert "am doctor repair" in step
    assert str(PATH) in step
    assert "--without" not in step


@pytest.mark.parametrize("said", [of_lost, of_damaged])
def test_without_one_there_are_a_backup_and_going_on_without_it(said: Callable[..., str]) -> None:
    step = said(PATH, has_database=False)

    assert "am doctor restore BACKUP" in step
    assert step.endswith("am doctor rebuild --without shop")
    assert "am doctor repair" not in step
