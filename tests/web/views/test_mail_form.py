from __future__ import annotations

import pytest

from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.web.request import PageRequest, Values
from mcp_agent_mail.web.views.mail_form import read_fields


def request(form: Values) -> PageRequest:
    return PageRequest(method="POST", path="/mail/p/overseer/compose", role=Role.OPERATOR, port=1, form=form)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (("",), []),
        (("BlueLake",), ["BlueLake"]),
        ((" BlueLake , GreenHill@shop;RedStone,",), ["BlueLake", "GreenHill@shop", "RedStone"]),
        (("BlueLake", "GreenHill"), ["BlueLake", "GreenHill"]),
    ],
)
def test_names_stand_between_commas(written: tuple[str, ...], names: list[str]) -> None:
    assert read_fields(request({"to": written}), draft="").names == names


def test_lines_of_a_text_end_as_in_mail() -> None:
    assert read_fields(request({"body_md": ("a\r\n\r\nb\rc",)}), draft="").body_md == "a\n\nb\rc"
