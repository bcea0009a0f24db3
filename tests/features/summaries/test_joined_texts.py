from __future__ import annotations

import pytest

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import ToolSpec
from mcp_agent_mail.features.summaries.joined_texts import JoinedTexts
from tests.server.reference_pages import declared

RULE = JoinedTexts(str.lower, max_length=200)


def refused(value: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        RULE.convert("thread_id", value)
    return refused.value


def test_a_text_is_read_as_any_other() -> None:
    assert RULE.convert("thread_id", "A,b") == "a,b"
    assert refused("x" * 201).hint == "Shorten it: nothing is ever cut for you."


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (["a", "b"], 'Several go in one text: "a,b".'),
        (["TKT-1", 7, "ü"], 'Several go in one text: "TKT-1,7,ü".'),
        (["a"], 'Send "a".'),
        (["a", {"b": 1}], 'Several go in one text: "a,b".'),
        (["a", True], 'Several go in one text: "a,b".'),
        (["x" * 99, "y"], 'Several go in one text: "a,b".'),
        (["a,b", "c"], 'Several go in one text: "a,b".'),
        ([], "Send a JSON string."),
        ({"name": "a"}, 'Send "a".'),
    ],
)
def test_whoever_sends_a_list_is_told_how_several_are_sent(value: object, hint: str) -> None:
    told = refused(value)

    assert told.hint == hint
    assert told.message.startswith("thread_id must be text, not ")
    assert told.data == {"parameter": "thread_id", "expected": "string"}


def test_every_tool_that_takes_several_in_one_text_says_so() -> None:
    specs, _ = declared()

    assert [spec.name for spec in specs if _takes_joined(spec)] == ["summarize_thread"]


def _takes_joined(spec: ToolSpec) -> bool:
    return any(isinstance(one.rule, JoinedTexts) for one in spec.params.values())
