from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.clients.setup.edits.look import Difference
from mcp_agent_mail.clients.setup.edits.text import UnfitText
from mcp_agent_mail.clients.setup.edits.whole_files import MARK, differences, put_into, take_out
from mcp_agent_mail.clients.setup.wishes import FileFormat, FileWish, Part, Scope

TEXT = f"#!/bin/sh\n# {MARK}.\nexec am\n"
WISH = FileWish(
    client="cline",
    part=Part.HOOKS,
    scope=Scope.USER,
    path=Path("/hooks/PreToolUse"),
    file_format=FileFormat.FILE,
    content=TEXT,
    is_executable=True,
)


@pytest.mark.parametrize("before", ["", "\n", TEXT, TEXT.replace("exec am", "exec /old/am")])
def test_nothing_and_what_is_ours_is_replaced(before: str) -> None:
    assert put_into(before, WISH) == TEXT


def test_a_file_of_somebody_else_is_refused() -> None:
    with pytest.raises(UnfitText, match="somebody else"):
        put_into("#!/bin/sh\necho mine\n", WISH)


def test_a_change_is_found_in_its_line() -> None:
    assert differences(TEXT, WISH) == []
    assert differences(TEXT.replace("exec am", "exec /old/am"), WISH) == [Difference(what="PreToolUse", line=3)]


def test_what_somebody_changed_is_not_taken_away() -> None:
    with pytest.raises(UnfitText, match="changed"):
        take_out(TEXT + "echo mine\n", WISH, None)

    assert take_out(TEXT, WISH, None) is None
    assert take_out(TEXT, WISH, "") == ""
    assert take_out("#!/bin/sh\necho mine\n", WISH, None) == "#!/bin/sh\necho mine\n"
