"""The import contracts of pyproject.toml hold, and each of them notices a tree that breaks it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.architecture.trees import ROOT, add, copy_of_the_sources, lint_imports


def _contract_ids() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"] for contract in project["tool"]["importlinter"]["contracts"]}


def test_the_repository_keeps_its_contracts() -> None:
    finished = lint_imports(ROOT)

    assert finished.returncode == 0, finished.stdout + finished.stderr


_HOUSE = "mcp_agent_mail"
_BREAKS = [
    # The contract, the file and the line that breaks it, and what the report says of it.
    ("layers", "core/clock.py", f"import {_HOUSE}.domain.agents", "core.clock -> "),
    ("layers", "domain/agents.py", f"import {_HOUSE}.store.transaction", "domain.agents -> "),
    ("layers", "store/transaction.py", f"import {_HOUSE}.archive", "store.transaction -> "),
    ("layers", "archive/locks.py", f"import {_HOUSE}.store.transaction", "archive.locks -> "),
    ("layers", "store/transaction.py", f"import {_HOUSE}.features.messaging.service", "store.transaction -> "),
    ("layers", "features/messaging/service.py", f"import {_HOUSE}.server.mcp", "messaging.service -> "),
    ("layers", "bootstrap/wiring.py", f"import {_HOUSE}.archiver", "bootstrap.wiring -> "),
    ("layers", "server/mcp.py", f"import {_HOUSE}.cli.app", "server.mcp -> "),
    ("layers", "cli/app.py", f"import {_HOUSE}.__main__", "cli.app -> "),
    ("layers", "facades/claims/tools.py", f"import {_HOUSE}.server.mcp", "claims.tools -> "),
    ("layers", "bootstrap/wiring.py", f"import {_HOUSE}.facades.claims.tools", "bootstrap.wiring -> "),
    ("layers", "plugins/odd.py", "", f"{_HOUSE}.plugins"),
    ("slices", "features/identity/service.py", f"import {_HOUSE}.features.messaging.service", "identity.service -> "),
    ("slices", "features/archiving/service.py", f"import {_HOUSE}.features.projects", "archiving.service -> "),
    ("slices", "features/projects/lookup.py", f"import {_HOUSE}.features.health", "projects.lookup -> "),
    ("slices", "features/gossip/service.py", "", f"{_HOUSE}.features.gossip"),
    ("slice", "features/messaging/service.py", f"import {_HOUSE}.features.messaging.tools", "messaging.service -> "),
    ("slice", "features/messaging/schemas.py", f"import {_HOUSE}.features.messaging.service", "messaging.schemas -> "),
    ("slice", "features/messaging/tools.py", f"import {_HOUSE}.features.messaging.resources", "messaging.tools -> "),
    ("requests", "server/edge/edge.py", f"import {_HOUSE}.server.transport.listener", "edge.edge -> "),
    ("requests", "server/jwt/verifier.py", f"import {_HOUSE}.server.edge.edge", "jwt.verifier -> "),
    ("sql", "features/messaging/service.py", "import sqlite3", "messaging.service -> sqlite3"),
    ("sql", "store/leases.py", "import sqlite3", "store.leases -> sqlite3"),
    ("sql", "store/mail/summaries.py", "import aiosqlite", "mail.summaries -> aiosqlite"),
    ("sql", "store/engine/port.py", "import sqlite3", "engine.port -> sqlite3"),
    ("sql", "domain/agents.py", "import sqlmodel", "domain.agents -> sqlmodel"),
    ("sql", "archive/locks.py", "import aiosqlite", "archive.locks -> aiosqlite"),
    ("sql", "server/mcp.py", "from sqlalchemy import text", "server.mcp -> sqlalchemy"),
    ("git", "features/archiving/service.py", "from git import Repo", "archiving.service -> git"),
    ("git", "core/clock.py", "import gitdb", "core.clock -> gitdb"),
    ("web", "features/messaging/tools.py", "from fastmcp import FastMCP", "messaging.tools -> fastmcp"),
    ("web", "features/messaging/resources.py", "import starlette.requests", "messaging.resources -> starlette"),
    ("web", "cli/app.py", "import uvicorn", "cli.app -> uvicorn"),
    ("web", "server/mcp.py", "import opentelemetry.trace", "server.mcp -> opentelemetry"),
    ("web", "bootstrap/tables.py", "import mcp", "bootstrap.tables -> mcp"),
    ("web", "facades/claims/resources.py", "import fastmcp", "claims.resources -> fastmcp"),
    ("typer", "server/mcp.py", "import typer", "server.mcp -> typer"),
    ("typer", "cli/app.py", "import click", "cli.app -> click"),
    ("pillow", "features/attachments/images.py", "import PIL.Image", "attachments.images -> PIL"),
    ("pillow", "archiver.py", "from PIL import Image", "archiver -> PIL"),
    ("render", "web/app.py", "import jinja2", "web.app -> jinja2"),
    ("render", "web/pages/inbox.py", "from markupsafe import Markup", "pages.inbox -> markupsafe"),
    ("render", "server/pages/endpoint.py", "import nh3", "pages.endpoint -> nh3"),
    ("layers", "web/app.py", f"import {_HOUSE}.server.mcp", "web.app -> "),
    ("joserfc", "server/jwt/verifier.py", "import joserfc.jwt", "jwt.verifier -> joserfc"),
    ("joserfc", "core/clock.py", "from cryptography import x509", "core.clock -> cryptography"),
    ("layers", "archiver.py", f"import {_HOUSE}.image_converter", "archiver -> "),
    ("layers", "features/attachments/images.py", f"import {_HOUSE}.image_converter", "attachments.images -> "),
    ("settings", "features/messaging/service.py", f"import {_HOUSE}.core.settings.server", "messaging.service -> "),
    ("settings", "store/transaction.py", f"import {_HOUSE}.core.settings.client", "store.transaction -> "),
    ("guard", "guard/hook.py", "import orjson", "guard.hook -> orjson"),
    ("guard", "core/escaping.py", "import asyncio", "core.escaping -> asyncio"),
    ("hook", "clients/hook/run.py", "import orjson", "hook.run -> orjson"),
    ("hook", "clients/contracts/reader.py", "import asyncio", "contracts.reader -> asyncio"),
    ("layers", "clients/hook/run.py", f"import {_HOUSE}.server.mcp", "hook.run -> "),
    ("decouple", "server/mcp.py", "from decouple import config", "server.mcp -> decouple"),
]


def test_there_is_a_broken_tree_for_every_contract() -> None:
    assert {contract for contract, *_ in _BREAKS} == _contract_ids()


@pytest.mark.parametrize("contract", sorted(_contract_ids()))
def test_a_tree_that_breaks_a_contract_is_refused(contract: str, tmp_path: Path) -> None:
    """By everything that breaks it, at once: each line is told of."""
    broken = [row for row in _BREAKS if row[0] == contract]
    root = copy_of_the_sources(tmp_path)
    for _, module, line, _ in broken:
        add(root, module, line)

    finished = lint_imports(root, contract)

    report = " ".join((finished.stdout + finished.stderr).split())
    assert finished.returncode == 1, report
    assert [said for *_, said in broken if said not in report] == [], report
