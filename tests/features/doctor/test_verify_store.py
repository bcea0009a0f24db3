from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.features.doctor.verify_store import named_as


def test_what_is_found_of_a_copy_is_told_of_what_it_was_made_of() -> None:
    found = Finding(
        check="attachments",
        problem="missing",
        project=None,
        path="/b/.building-1/.scratch/attachments/aa",
        evidence="/b/.building-1/mail.sqlite3 says so",
        next_step="look into /b/.building-1/.scratch",
    )
    names: dict[Path, object] = {
        Path("/b/.building-1"): "the backup",
        Path("/b/.building-1/.scratch"): Path("/store"),
        Path("/b/.building-1/mail.sqlite3"): Path("/elsewhere/mail.db"),
    }

    (told,) = named_as([found], names)

    assert (told.path, told.evidence) == ("/store/attachments/aa", "/elsewhere/mail.db says so")
    assert told.next_step == "look into /store"
    assert (told.check, told.problem, told.project) == (found.check, found.problem, None)
