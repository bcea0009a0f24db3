from __future__ import annotations

import json
from dataclasses import dataclass

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.web.shapes import json_answer, shape_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inner:
    read_ts: int | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outer:
    created_ts: int
    inner: _Inner
    is_new: bool


def test_a_model_is_an_object_whose_times_are_iso() -> None:
    model = _Outer(created_ts=1_000_000, inner=_Inner(read_ts=None, names=("a", "b")), is_new=True)

    assert shape_of(model) == {
        "created_ts": "1970-01-01T00:00:01.000000+00:00",
        "inner": {"read_ts": None, "names": ["a", "b"]},
        "is_new": True,
    }


def test_an_answer_is_ascii_so_that_no_character_of_it_means_anything_else() -> None:
    answer = json_answer({"text": "\u202e</script>", "at_ts": 0}, status=404)

    assert answer.status == 404
    assert answer.body.isascii()
    assert json.loads(answer.body) == {"text": "\u202e</script>", "at_ts": "1970-01-01T00:00:00.000000+00:00"}


def test_a_word_of_an_enumeration_is_its_value() -> None:
    assert shape_of({"list": [Role.OPERATOR.word]}) == {"list": ["operator"]}
