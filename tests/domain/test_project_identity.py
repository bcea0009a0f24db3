from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.domain.project_identity import (
    Identity,
    IdentityMode,
    IdentitySource,
    Marks,
    RepositoryFacts,
    UnfitMark,
    WorkspaceFacts,
    derived_uid,
    identify,
    normalized_remote,
    project_of_derived,
    read_discovery,
    read_marker,
    write_discovery,
    write_marker,
)

REPOSITORY = RepositoryFacts(
    root="/code/app-wt",
    common_dir="/code/app/.git",
    branch="main",
    worktree="app-wt",
    ignore_case=False,
    remote="example.org/team/app",
)
NO_MARKS = Marks()
ALL_MARKS = Marks(committed="uid-committed", discovery={"project_uid": "uid-discovery"}, private="uid-private")


def tie(mode: IdentityMode, marks: Marks = NO_MARKS, repository: RepositoryFacts | None = REPOSITORY) -> str | None:
    return identify(WorkspaceFacts(path="/code/app-wt/src", marks=marks, repository=repository), mode).tie


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (IdentityMode.DIR, None),
        (IdentityMode.GIT_TOPLEVEL, "toplevel:/code/app-wt"),
        (IdentityMode.GIT_COMMON_DIR, "common:/code/app/.git"),
        (IdentityMode.GIT_REMOTE, "remote:example.org/team/app"),
    ],
)
def test_each_mode_ties_by_its_own_fact(mode: IdentityMode, expected: str | None) -> None:
    assert tie(mode) == expected


@pytest.mark.parametrize("mode", list(IdentityMode))
def test_marks_win_over_every_mode_in_their_order(mode: IdentityMode) -> None:
    by_discovery = Marks(discovery=ALL_MARKS.discovery, private=ALL_MARKS.private)

    assert tie(mode, ALL_MARKS) == "uid:uid-committed"
    assert tie(mode, by_discovery) == "uid:uid-discovery"
    assert tie(mode, Marks(discovery={"project_name": "App"}, private="uid-private")) == "uid:uid-private"


@pytest.mark.parametrize("mode", list(IdentityMode))
def test_outside_of_a_repository_a_directory_is_its_own_project(mode: IdentityMode) -> None:
    found = identify(WorkspaceFacts(path="/code/app"), mode)

    assert found == Identity(
        mode_used=IdentityMode.DIR, source=IdentitySource.DIRECTORY, canonical_path="/code/app", tie=None
    )


def test_without_the_remote_its_mode_falls_back_to_the_clone() -> None:
    lonely = RepositoryFacts(
        root="/code/app", common_dir="/code/app/.git", branch=None, worktree=None, ignore_case=False, remote=None
    )

    found = identify(WorkspaceFacts(path="/code/app", repository=lonely), IdentityMode.GIT_REMOTE)

    assert (found.mode_used, found.tie) == (IdentityMode.GIT_COMMON_DIR, "common:/code/app/.git")


@pytest.mark.parametrize(
    "url",
    [
        "git@Example.org:team/app.git",
        "Example.ORG:team/app",
        "ssh://git@example.org/team/app.git",
        "ssh://git@example.org:22/team/app",
        "https://example.org/team/app.git/",
        "https://someone:secret@EXAMPLE.org:443//team/app.git",
        "http://example.org/team/app",
        "git://example.org/team/app.git",
        " git@example.org:/team/app ",
    ],
)
def test_the_forms_of_one_remote_are_one(url: str) -> None:
    assert normalized_remote(url) == "example.org/team/app"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ssh://git@example.org:2222/team/app", "example.org:2222/team/app"),
        ("git@example.org:Team/App", "example.org/Team/App"),
        ("git@[2001:DB8::1]:app", "2001:db8::1/app"),
        ("/srv/git/app.git", None),
        ("../app", None),
        ("file:///srv/git/app", None),
        ("ext::sh -c evil", None),
        ("https://", None),
        ("https://example.org", None),
        ("https://[bad/app", None),
        ("https://example.org:99999/app", None),
        ("git@example.org:a\nb", None),
        ("", None),
        ("x" * 2_000, None),
    ],
)
def test_remotes_at_the_edges(url: str, expected: str | None) -> None:
    assert normalized_remote(url) == expected


@given(st.text(max_size=200))
def test_no_text_breaks_the_reading_of_remotes_and_files(text: str) -> None:
    normalized = normalized_remote(text)

    assert normalized is None or "@" not in normalized.split("/")[0]
    for read in (read_marker, read_discovery):
        try:
            read(text)
        except UnfitMark:
            continue


def test_a_marker_is_read_as_it_was_written() -> None:
    assert read_marker(write_marker("0123456789abcdef")) == "0123456789abcdef"
    assert read_marker("\n# about\n  MyApp.Core_1  \n") == "myapp.core_1"


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "short", "two\nlines-here", "../../etc/passwd", "a; rm -rf ~", "ä" * 10]
)
def test_a_marker_with_anything_but_one_uid_is_refused(text: str) -> None:
    with pytest.raises(UnfitMark):
        read_marker(text)


def test_a_discovery_file_is_read_as_it_was_written() -> None:
    values = {"project_uid": "0123456789abcdef", "project_name": "App # 1"}

    assert read_discovery(write_discovery(values)) == values


def test_of_yaml_a_discovery_file_may_use_a_few_plain_lines() -> None:
    text = (
        "---\n# about\nproject_uid:  My-App-01   # ours\nproject_name: \"An app\"\nproduct_name: 'Suite' # all\n"
        "product_uid: !!python/object x\n  project_uid: nested-uid\nunknown: 1\nlist:\n  - a\n"
    )

    assert read_discovery(text) == {
        "project_uid": "my-app-01",
        "project_name": "An app",
        "product_name": "Suite",
        "product_uid": "!!python/object x",
    }


@given(st.uuids().map(str), st.integers(1, 2**63 - 1))
def test_a_derived_uid_leads_back_to_its_project_in_its_own_store_alone(store_id: str, number: int) -> None:
    uid = derived_uid(store_id, number)

    assert project_of_derived(store_id, uid) == number
    assert project_of_derived(f"{store_id}x", uid) is None
