from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.clients.setup.edits import json_edit
from mcp_agent_mail.clients.setup.edits.json_text import Json, parse
from mcp_agent_mail.clients.setup.edits.text import UnfitText

ENTRY = {"url": "http://x", "headers": {"A": "B"}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "s": {\n    "k": 1\n  }\n}\n'),
        ("\n", '{\n  "s": {\n    "k": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "k": 1\n  }\n}'),
        ('{"a":1}', '{"a":1,"s":{"k":1}}'),
        ('{"a": 1}', '{"a": 1, "s": {"k": 1}}'),
        ('{\n\t"a": 1 // c\n}\n', '{\n\t"a": 1, // c\n\t"s": {\n\t\t"k": 1\n\t}\n}\n'),
        ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "s": {\n    "k": 1\n  },\n}'),
        ('{\r\n  "s": {\r\n    "o": 2\r\n  }\r\n}', '{\r\n  "s": {\r\n    "o": 2,\r\n    "k": 1\r\n  }\r\n}'),
        ('{\n  "s": {}\n}', '{\n  "s": {\n    "k": 1\n  }\n}'),
        ('{\n  "s": {\n    // none\n  }\n}', '{\n  "s": {\n    // none\n    "k": 1\n  }\n}'),
        ('{\n  "s": {"o": 2}\n}', '{\n  "s": {"o": 2, "k": 1}\n}'),
        ('{"s": {"k": 0 /* was */}}', '{"s": {"k": 1 /* was */}}'),
    ],
)
def test_a_value_is_set_as_the_file_is_laid_out(before: str, after: str) -> None:
    assert json_edit.set_value(before, ["s", "k"], 1) == after


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ('{"a": 1, "b": 2}', ["a"], '{"b": 2}'),
        ('{"a": 1, "b": 2}', ["b"], '{"a": 1}'),
        ('{"a":1}', ["a"], "{}"),
        ('{\n  "a": 1, // mine\n  "b": 2\n}', ["b"], '{\n  "a": 1 // mine\n}'),
        (
            '{\n  "a": 1,\n  // of b\n  "b": 2, // too\n  "c": 3\n}',
            ["b"],
            '{\n  "a": 1,\n  // of b\n  // too\n  "c": 3\n}',
        ),
        ('{\n  "a": 1,\n  "b": 2,\n}', ["b"], '{\n  "a": 1,\n}'),
        ('{\n  // x\n  "a": 1, "b": 2\n}', ["a"], '{\n  // x\n  "b": 2\n}'),
        ('{\r\n  "a": 1,\r\n  "b": 2\r\n}', ["a"], '{\r\n  "b": 2\r\n}'),
        ("{}", ["a"], "{}"),
    ],
)
def test_a_member_goes_with_its_line_and_one_comma(before: str, path: list[str], after: str) -> None:
    assert json_edit.remove_member(before, path) == after


def test_items_are_added_and_taken_away_within_items() -> None:
    text = '{\n  "h": [\n    {"x": [1]}\n  ]\n}'

    more = json_edit.add_item(json_edit.add_item(text, ["h", 0, "x"], 2), ["h"], {"y": 1})

    assert json.loads(more) == {"h": [{"x": [1, 2]}, {"y": 1}]}
    assert json_edit.remove_item(json_edit.remove_item(more, ["h"], 1), ["h", 0, "x"], 1) == text


@pytest.mark.parametrize("text", ['{"s": null}', '{"s": [1]}', "[]", '"text"'])
def test_what_has_no_place_for_us_is_refused(text: str) -> None:
    with pytest.raises(UnfitText, match="no JSON object"):
        json_edit.set_value(text, ["s", "k"], 1)


def test_a_member_behind_which_another_of_its_name_would_count_is_not_taken_away() -> None:
    with pytest.raises(UnfitText, match="something else"):
        json_edit.remove_member('{"a": 1, "a": 2}', ["a"])


FILES = st.dictionaries(
    st.sampled_from("abcdef"),
    st.integers(0, 9)
    | st.lists(st.integers(0, 9), max_size=3)
    | st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9)),
    max_size=5,
)


@st.composite
def strewn(draw: st.DrawFn) -> tuple[Json, str]:
    """A file, and its text with blanks and comments anywhere between its words."""
    value = draw(FILES)
    gaps = st.sampled_from(["", " ", "\n", "\n  ", "\t", " // c\n", "/* , } */", "\r\n"])
    words = []
    plain = json.dumps(value, separators=(",", ":"))
    at = 0
    while at < len(plain):
        end = plain.index('"', at + 1) + 1 if plain[at] == '"' else at + 1
        words.append(plain[at:end])
        at = end
    return value, "".join(draw(gaps) + word for word in words) + draw(gaps)


@given(strewn(), st.sampled_from("abz"))
def test_whatever_stands_between_words_a_member_comes_and_goes(made: tuple[Json, str], name: str) -> None:
    value, text = made

    added = json_edit.set_value(text, [name], ENTRY)
    gone = json_edit.remove_member(added, [name])

    assert parse(added).value == {**value, name: ENTRY}
    assert parse(gone).value == {key: inner for key, inner in value.items() if key != name}
