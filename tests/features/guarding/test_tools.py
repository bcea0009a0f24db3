"""The tools that put the guard into a repository and take it out, over a real one."""

from __future__ import annotations

from pathlib import Path

from tests.features.guarding.harness import open_guards
from tests.features.identity.harness import PROJECT


async def test_a_repository_is_guarded_and_let_go(tmp_path: Path) -> None:
    async with open_guards(tmp_path) as guards:
        first, again = await guards.install(), await guards.install()
        project = guards.code.git("config", "agent-mail.project").strip()
        gone, nothing = await guards.uninstall(), await guards.uninstall()

    assert first == {"hook": str(guards.code.hooks / "pre-commit"), "status": "installed"}
    assert again["status"] == "unchanged"
    assert project == PROJECT
    assert (gone, nothing) == ({"removed": True, "left": []}, {"removed": False, "left": []})


async def test_what_somebody_changed_since_is_left_and_named(tmp_path: Path) -> None:
    async with open_guards(tmp_path) as guards:
        await guards.install()
        hook = guards.code.hooks / "pre-commit"
        hook.write_text(f"{hook.read_text()}echo mine\n")

        gone = await guards.uninstall()

    (told,) = gone["left"]
    assert f"{hook} was changed after" in told
    assert "echo mine" in hook.read_text()
