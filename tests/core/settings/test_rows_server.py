from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.kinds import BadValue, PathContext
from mcp_agent_mail.core.settings.rows_server import ENTRY_POINTS
from mcp_agent_mail.core.settings.sources import SettingsError
from tests.server.whole_app import settings_of

HERE = PathContext(folder=Path("/"), home=Path("/"))


def test_entry_points_are_read_in_their_order_each_once_with_their_letter_case() -> None:
    assert ENTRY_POINTS.parse(" shift, Acme.tools,shift ,,a-b_c", HERE) == ("shift", "Acme.tools", "a-b_c")
    assert ENTRY_POINTS.parse(",", HERE) == ()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("shift:tools", "'shift:tools' is none"),
        ("a b", "'a b' is none"),
        ("x" * 65, "at most 64"),
        (",".join(f"a{number}" for number in range(17)), "Name 16 at most."),
    ],
)
def test_what_is_no_name_or_one_too_many_is_refused(text: str, hint: str) -> None:
    with pytest.raises(BadValue) as refused:
        ENTRY_POINTS.parse(text, HERE)

    assert hint in str(refused.value)


def test_the_cluster_custom_can_be_named_and_its_tools_cannot(tmp_path: Path) -> None:
    chosen = settings_of(tmp_path, TOOLS_FILTER_CLUSTERS="custom,search", CUSTOM_TOOLS="shift")

    assert (chosen.tools_filter_clusters, chosen.custom_tools) == (("custom", "search"), ("shift",))
    with pytest.raises(SettingsError, match="hand_over"):
        settings_of(tmp_path, TOOLS_FILTER_TOOLS="hand_over")
