"""What a process must not carry: memory, start-up time and the guard's independence hang on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.trees import PACKAGE, ROOT

_THIRD_PARTY = "{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names"


def _loaded_by(code: str, *flags: str, sources: Path = ROOT / "src") -> set[str]:
    """The third-party packages in memory after `code` ran in a fresh process."""
    path = os.pathsep.join([str(sources), *(entry for entry in sys.path if entry and "site-packages" in entry)])
    finished = subprocess.run(
        [sys.executable, *flags, "-c", f"import sys\n{code}\nprint(*({_THIRD_PARTY}))"],
        env={**os.environ, "PYTHONPATH": path if "-S" not in flags else str(sources)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return set(finished.stdout.split()) - {"mcp_agent_mail", "__main__", "__mp_main__"}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import mcp_agent_mail.cli.app", {"fastmcp", "mcp", "starlette", "pydantic", "sqlmodel", "rich"}),
        ("import mcp_agent_mail.cli.commands.status", {"fastmcp", "mcp", "starlette", "pydantic", "sqlmodel"}),
        ("import mcp_agent_mail.archiver", {"fastmcp", "mcp", "starlette", "pydantic", "sqlmodel", "typer"}),
        (
            "import mcp_agent_mail.image_converter",
            {"fastmcp", "mcp", "starlette", "pydantic", "sqlmodel", "typer", "orjson", "httptools"},
        ),
        (
            "from mcp_agent_mail.server import assembly, lifespan, serve; import mcp_agent_mail.server.transport.http",
            {"sqlmodel", "sqlalchemy", "typer", "PIL"},
        ),
    ],
)
def test_a_process_does_not_load_what_it_does_not_need(code: str, absent: set[str]) -> None:
    assert _loaded_by(code) & absent == set()


_STANDARD_LIBRARY_ONLY = [
    *(
        ".".join(path.relative_to(ROOT / PACKAGE).with_suffix("").parts)
        for path in sorted((ROOT / PACKAGE / "domain").rglob("*.py"))
        if path.stem != "__init__"
    ),
    *(
        "core.child_process",
        "core.settings.client",
        "core.clock",
        "core.settings.env_file",
        "core.errors",
        "core.git.process",
    ),
    *(
        "core.ids",
        "core.settings.addresses",
        "core.settings.kinds",
        "core.settings.names",
        "core.settings.rows",
        "core.settings.sources",
    ),
]


@pytest.mark.parametrize("module", _STANDARD_LIBRARY_ONLY)
def test_the_domain_and_the_core_of_hooks_run_without_any_package_installed(module: str) -> None:
    assert _loaded_by(f"import mcp_agent_mail.{module}", "-S") == set()


def test_a_third_party_import_in_the_domain_is_noticed(tmp_path: Path) -> None:
    package = tmp_path / "mcp_agent_mail"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "agents.py").write_text("import orjson\n")

    with pytest.raises(AssertionError, match="No module named 'orjson'"):
        _loaded_by("import mcp_agent_mail.agents", "-S", sources=tmp_path)
    assert "orjson" in _loaded_by("import mcp_agent_mail.agents", sources=tmp_path)
