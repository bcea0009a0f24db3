from __future__ import annotations

import pytest

from mcp_agent_mail.cli.agentmail.arguments import parse
from mcp_agent_mail.cli.agentmail.refusals import Failure

FLAGS = {"r": "recipient", "recipient": "recipient", "m": "message", "message": "message"}


@pytest.mark.parametrize(
    ("line", "values", "words"),
    [
        (["-r", "a", "--message", "b"], {"recipient": "a", "message": "b"}, []),
        (["--recipient=a", "-m=b=c"], {"recipient": "a", "message": "b=c"}, []),
        (["a", "-m", "b"], {"message": "b"}, ["a"]),
        (["a", "-hello"], {}, ["a", "-hello"]),
        (["--", "-r", "b"], {}, ["-r", "b"]),
        (["a", "-"], {}, ["a", "-"]),
    ],
)
def test_flags_are_read_wherever_they_stand(line: list[str], values: dict[str, str], words: list[str]) -> None:
    given = parse(line, FLAGS)

    assert (given.values, given.words) == (values, words)


def test_a_flag_without_its_value_and_an_unknown_one_are_refused() -> None:
    with pytest.raises(Failure, match=r"^flag needs an argument: -m$"):
        parse(["-m"], FLAGS)
    with pytest.raises(Failure, match=r"^flag provided but not defined: -x$"):
        parse(["-x", "a"], FLAGS)


def test_flags_without_a_value_are_kept_apart() -> None:
    given = parse(["--hook", "a"], {}, ["hook"])

    assert (given.flags, given.words) == ({"hook"}, ["a"])
