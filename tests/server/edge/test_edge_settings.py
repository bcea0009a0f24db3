from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_agent_mail.core.settings.server import load_settings
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.edge_settings import gate_of


@pytest.mark.parametrize(
    ("host", "status"), [("127.0.0.3:8765", None), ("mail.example", None), ("localhost", None), ("other.example", 403)]
)
def test_the_address_that_the_server_listens_on_is_served_beside_a_list(
    host: str, status: int | None, tmp_path: Path
) -> None:
    environ = {
        "AGENT_MAIL_ENV_FILE": os.devnull,
        "STORAGE_ROOT": str(tmp_path),
        "HTTP_HOST": "127.0.0.3",
        "HTTP_ALLOWED_HOSTS": "mail.example",
    }
    gate = gate_of(load_settings(environ, cwd=tmp_path).settings, Bearers(BearerRules()))
    headers = {b"host": host.encode()}

    refusal = gate.check_source(list(headers.items()), headers)

    assert (None if refusal is None else refusal.status) == status
