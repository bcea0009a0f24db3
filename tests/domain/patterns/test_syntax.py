"""How the text of a pattern is written, and what of it is stored."""

from __future__ import annotations

import pytest

from mcp_agent_mail.domain.patterns.syntax import PatternText, UnreadablePattern, normalise, read_normal, split

ROOT = "/code/app"


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/x/../b", "a/b"),
        ("  a b.txt \n", "a b.txt"),
        ("src/", "src/"),
        ("src//", "src/"),
        ("src/.", "src/"),
        (".", "**"),
        ("/code/app", "**"),
        ("/code/app/", "**"),
        ("/code/app/src/x.py", "src/x.py"),
        ("/code/./app/x/../src/", "src/"),
        ("../app/x", "x"),
        ("/*.py", "/*.py"),
        ("/*/x", "*/x"),
        ("/**", "**"),
        ("*/../x", "x"),
        ("!x", "!x"),
        ("#notes.md", "#notes.md"),
        ("tool://a//b/../c", "tool://a//b/../c"),
        ("a[/]b", "a[/]b"),
        ("a[b//./c]d", "a[b//./c]d"),
        (" x/../ y", " y"),
    ],
)
def test_a_pattern_is_stored_in_normal_form(written: str, stored: str) -> None:
    pattern = normalise(written, project_root=ROOT)

    assert pattern.text == stored
    assert read_normal(stored) == pattern


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "a[b",
        "a[]",
        "a[!]",
        "[[:nothing:]]",
        "[[:alpha:]",
        "a\\",
        "a\\/b",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "/etc/*.conf",
        "/code/application/x",
        "/",
        "..",
        "\\../x",
        "**/../x",
        "a\tb",
        "a\nb",
        "a\x00b",
        "a\u2028b",
        "a\udc80b",
        "x" * 1025,
        "file:///code/app/x",
        "tool://",
    ],
)
def test_what_cannot_be_read_or_lies_outside_is_refused_with_the_next_step(text: str) -> None:
    with pytest.raises(UnreadablePattern) as refused:
        normalise(text, project_root=ROOT)

    assert refused.value.code == "INVALID_INPUT"
    assert refused.value.hint


def test_without_a_project_root_no_absolute_path_is_inside() -> None:
    with pytest.raises(UnreadablePattern, match="outside the project"):
        normalise("/code/app/x")


def test_1024_characters_are_accepted() -> None:
    assert len(normalise("x" * 1024).text) == 1024


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("src/a.py", PatternText(text="src/a.py", segments=("src", "a.py"))),
        ("src/", PatternText(text="src/", segments=("src",), ends_in_slash=True)),
        ("/*.py", PatternText(text="/*.py", segments=("*.py",), is_rooted=True)),
        ("**", PatternText(text="**", segments=("**",))),
        ("tool://x", PatternText(text="tool://x", is_virtual=True)),
    ],
)
def test_the_parts_of_a_pattern_are_told(text: str, read: PatternText) -> None:
    assert normalise(text) == read_normal(text) == read


@pytest.mark.parametrize("text", ["", "a//b", "/", "a[", "x" * 1025, "a\nb"])
def test_what_is_not_in_normal_form_is_not_taken_as_it_is(text: str) -> None:
    with pytest.raises(UnreadablePattern):
        read_normal(text)


def test_a_slash_within_a_bracket_ends_no_segment() -> None:
    assert split("a/b[/]c/d") == ["a", "b[/]c", "d"]
    assert split("[ab]/") == ["[ab]", ""]
    assert split("a/b") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "Name a file"),
        ("x" * 1025, "Name a folder above it"),
        ("a\tb", "on one line"),
        ("a[b", "Close the bracket"),
        ("file:///x", "names of other things"),
        ("**/../x", "without `..`"),
        ("../x", "from the repository's root"),
        ("\\.", "from the repository's root"),
    ],
)
def test_each_refusal_says_what_to_write_instead(text: str, hint: str) -> None:
    with pytest.raises(UnreadablePattern) as refused:
        normalise(text)

    assert hint in refused.value.hint


def test_a_project_at_the_root_of_the_file_system_holds_every_path() -> None:
    assert normalise("/etc/x", project_root="/").text == "etc/x"


def test_paths_that_go_up_come_back_in_or_are_outside() -> None:
    assert normalise("../app/../app/x", project_root=ROOT).text == "x"
    for text in ("../../../x", "../../../app/x"):
        with pytest.raises(UnreadablePattern, match="outside the project"):
            normalise(text, project_root=ROOT)
    with pytest.raises(UnreadablePattern, match="outside the project"):
        normalise("../x")
