from __future__ import annotations

import pytest

from mcp_agent_mail.domain.identity.claimed_names import ClaimedName


@pytest.mark.parametrize(
    ("text", "name", "project_key"),
    [
        ("BlueLake", "BlueLake", None),
        (" BlueLake ", "BlueLake", None),
        ("BlueLake@app", "BlueLake", "app"),
        (" BlueLake @ /code/app ", "BlueLake", "/code/app"),
        ("BlueLake@/code/a@b", "BlueLake", "/code/a@b"),
        ("BlueLake@", "BlueLake", ""),
        ("@app", "", "app"),
        ("", "", None),
    ],
)
def test_the_name_ends_at_the_first_sign(text: str, name: str, project_key: str | None) -> None:
    assert ClaimedName.parse(text) == ClaimedName(name=name, project_key=project_key)


@pytest.mark.parametrize(("name", "is_it"), [("bluelake", True), (" BLUELAKE ", True), ("BlueLakes", False)])
def test_a_name_is_compared_as_the_store_does(name: str, is_it: bool) -> None:
    assert ClaimedName.parse("BlueLake@app").is_name_of(name) is is_it


def test_a_letter_that_only_folds_to_another_is_another() -> None:
    assert not ClaimedName.parse("Red\u017ftone").is_name_of("RedStone")
