from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.addresses import Address, UnreadableAddress, parse_address, shown_name

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,20}", fullmatch=True)
KEYS = st.text(alphabet="abc/@#:. -", min_size=1, max_size=20).filter(lambda key: key.strip() == key)


@pytest.mark.parametrize(
    ("text", "name", "key"),
    [
        ("BlueLake", "BlueLake", None),
        ("  BlueLake ", "BlueLake", None),
        ("BlueLake@app-1a2b3c4d", "BlueLake", "app-1a2b3c4d"),
        ("BlueLake@/code/me@home", "BlueLake", "/code/me@home"),
        ("project:app#BlueLake", "BlueLake", "app"),
        ("Project:/code/c#/x#BlueLake", "BlueLake", "/code/c#/x"),
        ("project: app # BlueLake", "BlueLake", "app"),
        ("name with blanks", "name with blanks", None),
    ],
)
def test_an_address_is_a_name_and_perhaps_a_project(text: str, name: str, key: str | None) -> None:
    assert parse_address(text) == Address(name=name, project_key=key)


@pytest.mark.parametrize("text", ["@app", "Blue@", "Blue@  ", "project:app", "project:#Blue", "project:app#"])
def test_half_an_address_is_refused_with_the_forms_accepted(text: str) -> None:
    with pytest.raises(UnreadableAddress) as refused:
        parse_address(text)

    assert "Name@slug" in refused.value.data["accepted"]


@given(name=NAMES, key=KEYS)
def test_both_forms_name_the_same_agent_whatever_the_project_is_called(name: str, key: str) -> None:
    assert parse_address(f"{name}@{key}") == parse_address(f"project:{key}#{name}")


def test_a_name_is_shown_bare_at_home_and_with_its_project_elsewhere() -> None:
    assert shown_name("BlueLake", ProjectId(1), "app-1a2b", ProjectId(1)) == "BlueLake"
    assert shown_name("BlueLake", ProjectId(1), "app-1a2b", ProjectId(2)) == "BlueLake@app-1a2b"


@pytest.mark.parametrize(
    ("text", "is_told"), [("@BlueLake", True), (" @BlueLake ", True), ("@", False), ("project:x", False)]
)
def test_a_name_behind_an_at_sign_is_told_as_it_is_written(text: str, is_told: bool) -> None:
    with pytest.raises(UnreadableAddress) as unreadable:
        parse_address(text)

    assert ("A name stands without @: BlueLake. Accepted: " in unreadable.value.hint) is is_told
