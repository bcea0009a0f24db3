"""Our block in a file: what goes in comes out again byte for byte, and nothing else changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.clients.docs.block import BEGIN, END, BrokenMarks, NoText, insert, remove
from mcp_agent_mail.clients.docs.files import usage_text
from tests.pages.blocks import ROOT

TEXT = "## Mail\nUse it.\n"
BOM = b"\xef\xbb\xbf"
PIECES = st.sampled_from([b"a", b"\n", b"\r\n", b"\r", BOM, b" ", b"<!-- x -->", b"\xc3\xa4", b"# T", b"\t", b"\xff"])
CONTENTS = st.lists(PIECES, max_size=12).map(b"".join)


@given(CONTENTS)
def test_what_went_in_comes_out_and_the_file_is_as_it_was(content: bytes) -> None:
    with_block = insert(content, TEXT)

    assert remove(with_block) == content
    assert insert(with_block, TEXT) == with_block
    assert with_block.startswith(content)


@given(CONTENTS, st.sampled_from(["## Mail\n", "Other.\n\nLonger\n", "x"]))
def test_another_versions_text_takes_the_place_of_the_old_one_and_comes_out_too(content: bytes, older: str) -> None:
    assert insert(insert(content, older), TEXT) == insert(content, TEXT)
    assert remove(insert(insert(content, older), TEXT)) == content


@given(CONTENTS, CONTENTS)
def test_what_others_wrote_around_it_since_stays(content: bytes, later: bytes) -> None:
    changed = insert(content + b"\n", TEXT) + later

    assert remove(changed) == content + b"\n" + later


def test_it_stands_by_itself_and_ends_its_lines_as_the_file_does() -> None:
    assert insert(b"# A\r\n", TEXT) == b"# A\r\n\r\n" + BEGIN + b"\r\n## Mail\r\nUse it.\r\n" + END + b"\r\n"
    assert insert(b"# A\n", TEXT) == b"# A\n\n" + BEGIN + b"\n## Mail\nUse it.\n" + END + b"\n"
    assert insert(b"# A", TEXT) == b"# A\n\n" + BEGIN + b"\n## Mail\nUse it.\n" + END
    assert insert(BOM + b"# A\r\n", TEXT).startswith(BOM + b"# A\r\n\r\n" + BEGIN)


def test_a_file_that_we_made_goes_and_an_empty_one_that_was_there_stays() -> None:
    assert remove(insert(b"", TEXT, is_new=True)) is None
    assert remove(insert(b"", TEXT)) == b""
    assert remove(insert(b"", TEXT, is_new=True) + b"More.\n") == b"More.\n"


def test_what_has_no_block_is_left_as_it_is() -> None:
    assert remove(b"# A\n") == b"# A\n"
    assert remove(b"Say `<!-- agent-mail:begin -->` to begin.\n") == b"Say `<!-- agent-mail:begin -->` to begin.\n"


B, E = BEGIN.decode(), END.decode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (f"a\n{B}\ntext\n", f"Line 2 has {B}, and no {E} stands after it."),
        (f"a\n\n{E}\ntext\n", f"Line 3 has {E}, and no {B} stands before it."),
        (f"{E}\n{B}\n", f"Line 1 has {E}, and no {B} stands before it."),
        (f"{B}\n{E}\n{B}\n{E}\n", f"Line 3 has a second {B}."),
        (f"{B}\n{E}\n\n{E}\n", f"Line 4 has a second {E}."),
        (f"{B}\nx\n{B}\n{E}\n", f"Line 3 has a second {B}."),
        (f"a\n{B} and more\n{E}\n", f"Line 2 begins with {B} and goes on."),
        (f"a\n{B}\nx\n{E} and more\n", f"Line 4 begins with {E} and goes on."),
    ],
)
def test_broken_marks_are_refused_with_their_line(content: str, said: str) -> None:
    with pytest.raises(BrokenMarks, match=re.escape(said)):
        insert(content.encode(), TEXT)
    with pytest.raises(BrokenMarks, match=re.escape(said)):
        remove(content.encode())


def test_how_broken_marks_are_mended_is_said_without_a_promise_to_replace_what_others_wrote() -> None:
    with pytest.raises(BrokenMarks) as refused:
        insert(f"a\n{B}\nmine\n".encode(), TEXT)

    assert refused.value.hint == (
        f"Leave one line {B} and one line {E} behind it, or neither. What am docs insert has written between them is "
        "replaced; other text there is not, and is named."
    )


def test_utf_16_is_not_written_into() -> None:
    with pytest.raises(NoText):
        insert("# A\n".encode("utf-16"), TEXT)


def test_the_text_is_the_one_of_the_readme() -> None:
    found = re.search(r"^```markdown\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)

    assert found is not None
    assert usage_text() == found[1]
