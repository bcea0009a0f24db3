from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.features.sharing.lost_parts import LostParts, require_nothing_lost
from tests.given_mail import GivenMail


def test_what_would_be_lost_is_told_with_what_keeps_it(given: GivenMail, tmp_path: Path) -> None:
    given.send([given.red], subject="One")
    given.export(tmp_path / "out", given.app.human_key, given.lib.human_key)
    (tmp_path / "out" / "manifest.sig").write_text("s")

    with pytest.raises(LostParts) as refused:
        require_nothing_lost(tmp_path / "out", ["app"], is_signed=False)

    assert "has lib too" in refused.value.message
    assert "is signed" in refused.value.message
    assert all(one in refused.value.hint for one in ("--project", "--sign KEY", "--replace"))
    assert refused.value.data["projects"] == ["lib"]


def test_nothing_is_lost_to_more_projects_nor_where_no_bundle_is(given: GivenMail, tmp_path: Path) -> None:
    given.send([given.red], subject="One")
    given.export(tmp_path / "out")
    (tmp_path / "empty").mkdir()

    require_nothing_lost(tmp_path / "out", ["app", "lib"], is_signed=False)
    require_nothing_lost(tmp_path / "out", ["app"], is_signed=True)
    require_nothing_lost(tmp_path / "empty", [], is_signed=False)
    require_nothing_lost(tmp_path / "none", [], is_signed=False)
