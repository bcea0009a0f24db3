from __future__ import annotations

import pytest

from mcp_agent_mail.core.settings.env_edit import UnfitLine, with_value

HEAD = "# Mine.\nLOG_LEVEL=DEBUG\n"


@pytest.mark.parametrize(
    ("before", "after", "line", "was_set"),
    [
        pytest.param("", "HTTP_PORT=9000\n", 1, False, id="an empty file"),
        pytest.param(HEAD, f"{HEAD}HTTP_PORT=9000\n", 3, False, id="absent"),
        pytest.param(HEAD[:-1], f"{HEAD}HTTP_PORT=9000\n", 3, False, id="absent, and no end of the last line"),
        pytest.param(
            "#HTTP_PORT=8765\nLOG_LEVEL=DEBUG\n# HTTP_PORT=1\n",
            "#HTTP_PORT=8765\nHTTP_PORT=9000\nLOG_LEVEL=DEBUG\n# HTTP_PORT=1\n",
            2,
            False,
            id="behind the first that has it as a comment",
        ),
        pytest.param("#HTTP_PORT=8765", "#HTTP_PORT=8765\nHTTP_PORT=9000\n", 2, False, id="a comment without an end"),
        pytest.param("HTTP_PORT=1\n#HTTP_PORT=2\n", "HTTP_PORT=9000\n#HTTP_PORT=2\n", 1, True, id="set"),
        pytest.param("HTTP_PORT=\n", "HTTP_PORT=9000\n", 1, True, id="set to nothing"),
        pytest.param(
            "HTTP_PORT=1\nHTTP_PORT=2\nA=3", "HTTP_PORT=1\nHTTP_PORT=9000\nA=3", 2, True, id="the last counts"
        ),
        pytest.param(" HTTP_PORT = '1' \r\nA=2\r\n", " HTTP_PORT = '9000' \r\nA=2\r\n", 1, True, id="as it was spelt"),
        pytest.param("A=1\r\nB=2", "A=1\r\nB=2\r\nHTTP_PORT=9000\r\n", 3, False, id="with the file's line ends"),
        pytest.param("\ufeffHTTP_PORT=1\n", "\ufeffHTTP_PORT=9000\n", 1, True, id="behind a byte order mark"),
        pytest.param("MY_HTTP_PORT=1\n", "MY_HTTP_PORT=1\nHTTP_PORT=9000\n", 2, False, id="another's name"),
    ],
)
def test_one_line_says_the_value_and_every_other_byte_stays(before: str, after: str, line: int, was_set: bool) -> None:
    edit = with_value(before, "HTTP_PORT", "9000")

    assert (edit.text, edit.line, edit.was_set) == (after, line, was_set)


@pytest.mark.parametrize("line", ["export HTTP_PORT=1", "HTTP_PORT=1 # mine", "HTTP_PORT='1", "HTTP_PORT"])
def test_a_line_that_would_be_misread_is_left_alone(line: str) -> None:
    with pytest.raises(UnfitLine, match=r"^line 2: expected "):
        with_value(f"A=1\n{line}\n", "HTTP_PORT", "9000")


def test_faults_of_other_lines_are_not_its_business() -> None:
    assert with_value("export A=1\n", "HTTP_PORT", "9000").text == "export A=1\nHTTP_PORT=9000\n"
