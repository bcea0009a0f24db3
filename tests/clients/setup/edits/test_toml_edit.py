from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.edits.toml_edit import find_table, remove_table, restore_table, set_table

PATH = ("servers", "ours")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[servers.ours]\nurl = "x"\n'),
        ("a = 1", 'a = 1\n\n[servers.ours]\nurl = "x"'),
        ("[servers.other]\r\nb = 1\r\n", '[servers.other]\r\nb = 1\r\n\r\n[servers.ours]\r\nurl = "x"\r\n'),
    ],
)
def test_a_table_is_added_at_the_end_and_taken_away_again(before: str, after: str) -> None:
    added = set_table(before, PATH, {"url": "x"})

    assert added == after
    assert remove_table(added, PATH) == before


def test_a_table_that_is_there_is_mended_value_by_value_and_restored() -> None:
    text = '[servers.ours] # by hand\ncommand = "am" # why\nurl = "y"  # old\nmine = true\n\n[z]\nq = 1\n'

    changed = set_table(text, PATH, {"url": "x", "n": 1}, drop=["command"])

    assert changed == '[servers.ours] # by hand\n# why\nurl = "x"  # old\nmine = true\nn = 1\n\n[z]\nq = 1\n'
    back = restore_table(changed, PATH, text)
    assert tomllib.loads(back) == tomllib.loads(text)
    assert "# old" in back


def test_a_list_of_a_word_is_no_flag() -> None:
    changed = set_table("[servers.ours]\nn = 1\n", PATH, {"n": True})

    assert tomllib.loads(changed)["servers"]["ours"]["n"] is True


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a = 1\nservers = { other = { url = "z" } }\n', 2),
        ("\n[servers]\nours.url = 'y'\n", 3),
        ("[[servers]]\nx = 1\n", 1),
        ("servers = 1\n", 1),
    ],
)
def test_a_table_that_is_written_in_another_way_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnfitText) as unfit:
        set_table(text, PATH, {"url": "x"})

    assert unfit.value.line == line


@given(st.text(max_size=20), st.lists(st.text(max_size=5), max_size=3))
def test_every_text_is_written_as_toml_reads_it(text: str, words: list[str]) -> None:
    try:
        text.encode()
        "".join(words).encode()
    except UnicodeEncodeError:
        return
    wanted = {"url": text, "list": words, "table": {"k": text}, text: 1.5}

    changed = set_table("a = 1\n", PATH, wanted)

    assert find_table(tomllib.loads(changed), PATH) == wanted
