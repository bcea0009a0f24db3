from __future__ import annotations

import pytest

from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.edits.toml_text import read_values, statements

TEXT = '''\
# top
a = 1 # one
"b c".d = """
[no.table]
"""
[ t . "u.v" ] # t
e = [ # list
  "]", # x
  { f = '#' },
]
[[w]]
g = 1979-05-27
'''


def test_statements_say_what_they_set_and_where_they_stand() -> None:
    found = [(tuple(one.path), TEXT[one.start : one.end].partition("\n")[0], one.is_header) for one in statements(TEXT)]

    assert found == [
        (("a",), "a = 1", False),
        (("b c", "d"), '"b c".d = """', False),
        (("t", "u.v"), '[ t . "u.v" ]', True),
        (("t", "u.v", "e"), "e = [ # list", False),
        (("w",), "[[w]]", True),
        (("w", "g"), "g = 1979-05-27", False),
    ]
    assert [one.is_array_header for one in statements(TEXT) if one.is_header] == [False, True]


def test_the_value_of_a_pair_is_where_it_says() -> None:
    (pair,) = statements("k =  'x' # c\n")

    assert "k =  'x' # c\n"[pair.equals : pair.end] == "'x'"


@pytest.mark.parametrize(("text", "line"), [("a = 1\nb = \n", 2), ("[t]\n\n[t]\n", 3), ("a = 'x", 1)])
def test_what_is_no_toml_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnfitText) as unfit:
        read_values(text)

    assert unfit.value.line == line
