from __future__ import annotations

import pytest

from mcp_agent_mail.domain.archive_format.names import UnsafeName, name_in, safe_name, safe_slug


def test_an_agent_of_another_project_is_called_with_its_slug() -> None:
    assert (name_in(1, "BlueLake", 1, "app"), name_in(1, "BlueLake", 2, "lib")) == ("BlueLake", "BlueLake@lib")


@pytest.mark.parametrize("name", ["", "../x", "/x", ".", "a b", "a\n", "7up", "a" * 65])
def test_what_is_no_name_becomes_part_of_no_path(name: str) -> None:
    with pytest.raises(UnsafeName):
        safe_name(name)


@pytest.mark.parametrize("slug", ["", "../x", "/x", ".", "a b", "a\n", "A", "-a", "a" * 86])
def test_what_is_no_slug_becomes_part_of_no_path(slug: str) -> None:
    with pytest.raises(UnsafeName):
        safe_slug(slug)


def test_names_and_slugs_are_given_as_they_are() -> None:
    assert (safe_name("BlueLake"), safe_slug("code-app-1a2b3c4d")) == ("BlueLake", "code-app-1a2b3c4d")
