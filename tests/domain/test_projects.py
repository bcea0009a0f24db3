"""Paths and slugs of projects."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.projects import UnfitPath, canonical_path, is_path, plain_slug, slugs_of

PARTS = st.text(
    st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs"), exclude_characters="/"), min_size=1, max_size=12
).filter(lambda part: part not in (".", "..") and part == part.strip())
PATHS = st.lists(PARTS, min_size=1, max_size=6).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("/code/app", "/code/app"),
        ("/code/app/", "/code/app"),
        ("//code//app///", "/code/app"),
        ("/code/./app", "/code/app"),
        ("/code/x/../app", "/code/app"),
        ("/../../work", "/work"),
        ("  /code/app\n", "/code/app"),
        ("/code/My App", "/code/My App"),
        ("/", "/"),
    ],
)
def test_a_path_is_written_one_way(written: str, canonical: str) -> None:
    assert canonical_path(written) == canonical


@given(PATHS)
def test_a_canonical_path_stays_as_it_is(path: str) -> None:
    once = canonical_path(path)

    assert canonical_path(once) == once
    assert once == posixpath.normpath(path)


@pytest.mark.parametrize("path", ["work/app", "./app", "../app", "~/app", "C:\\work", "file:///work", ""])
def test_a_relative_path_is_refused_and_called_so(path: str) -> None:
    with pytest.raises(UnfitPath, match="relative path"):
        canonical_path(path)


@pytest.mark.parametrize("path", ["/a\0b", "/a\nb", "/a\x1b[31m", "/a\u2028b", "/a\x7f", "/a\ud800"])
def test_control_characters_are_refused(path: str) -> None:
    with pytest.raises(UnfitPath, match="control characters"):
        canonical_path(path)


def test_a_path_of_more_than_1024_characters_is_refused() -> None:
    assert canonical_path("/" + "x" * 1_023) == "/" + "x" * 1_023
    with pytest.raises(UnfitPath, match="1025 characters"):
        canonical_path("/" + "x" * 1_024)


def test_a_key_is_a_path_when_it_begins_with_a_slash() -> None:
    assert (is_path("/work"), is_path(" /work"), is_path("code-app-1a2b3c4d"), is_path("")) == (
        True,
        True,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("path", "plain"),
    [("/data/Projects/backend", "data-projects-backend"), ("/a_b//c.d", "a-b-c-d"), ("/", ""), ("/日本", "")],
)
def test_a_plain_slug_is_lower_case_with_single_dashes(path: str, plain: str) -> None:
    assert plain_slug(path) == plain


def test_a_slug_is_the_readable_end_of_the_path_and_a_hash_of_all_of_it() -> None:
    readable, _, digest = slugs_of("/data/projects/My Backend")[0].rpartition("-")

    assert readable == "projects-my-backend"
    assert len(digest) == 8


@given(PATHS, PATHS)
def test_two_paths_never_share_a_slug(one: str, other: str) -> None:
    shared = set(slugs_of(one)) & set(slugs_of(other))

    assert bool(shared) == (one == other)


def test_paths_of_one_plain_slug_have_different_slugs() -> None:
    assert plain_slug("/x/a-b") == plain_slug("/x/a/b")
    assert slugs_of("/x/a-b")[0] != slugs_of("/x/a/b")[0]


@given(PATHS)
def test_a_slug_is_fit_for_a_folder_and_an_address(path: str) -> None:
    for slug in slugs_of(path):
        assert plain_slug(slug) == slug
        assert 10 <= len(slug) <= 48 + 1 + 64
