from __future__ import annotations

from typing import Any

import pytest
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

from mcp_agent_mail.server.transport.protocol_versions import is_modern, unserved_version

VERSION = b"mcp-protocol-version"
CALL = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {}}


@pytest.mark.parametrize("version", [b"2024-11-05", b"2025-11-25", b"2026-07-28"])
def test_versions_that_are_served_are_let_through_whatever_the_body_is(version: bytes) -> None:
    assert unserved_version({VERSION: version}, {}) is None


def test_a_request_without_the_header_is_let_through() -> None:
    assert unserved_version({}, CALL) is None


@pytest.mark.parametrize(
    ("body", "answered"),
    [
        (CALL, 7),
        ({**CALL, "id": "seven"}, "seven"),
        ({**CALL, "id": True}, None),
        ({**CALL, "id": 1 << 53}, 1 << 53),
        ({**CALL, "id": 1 << 64}, None),
        ({**CALL, "id": [7]}, None),
        ({**CALL, "params": [1]}, 7),
        ({**CALL, "params": {"_meta": 5}}, 7),
    ],
    ids=str,
)
def test_the_answer_has_the_requests_id_where_that_is_one(body: dict[str, Any], answered: object) -> None:
    answer = unserved_version({VERSION: b"1999-01-01"}, body)

    assert answer is not None
    assert answer["id"] == answered


def test_a_message_without_an_id_is_told_the_versions_too_and_a_long_one_is_cut() -> None:
    answer = unserved_version({VERSION: b"9" * 4_000}, {"jsonrpc": "2.0"})

    assert answer is not None
    assert (answer["id"], answer["error"]["data"]["requested"]) == (None, "9" * 100)
    assert len(answer["error"]["message"]) < 500


def test_an_envelope_of_another_version_than_the_header_is_the_sdks_to_refuse() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}

    assert unserved_version({VERSION: b"1999-01-01"}, {**CALL, "params": {"_meta": meta}}) is None


@pytest.mark.parametrize(("version", "modern"), [(b"2025-11-25", False), (b"2026-07-28", True), (b"zz", True)])
def test_what_has_no_handshake_is_of_the_stateless_era(version: bytes, modern: bool) -> None:
    assert is_modern({VERSION: version}) is modern


@pytest.mark.parametrize(("meta", "supported"), [(True, ["2026-07-28"]), (False, list(KNOWN_PROTOCOL_VERSIONS))])
def test_who_sends_an_envelope_is_told_the_versions_of_its_era(*, meta: bool, supported: list[str]) -> None:
    params = {"_meta": {"io.modelcontextprotocol/protocolVersion": "v999.0.0"}} if meta else {}

    answer = unserved_version({VERSION: b"v999.0.0"}, {**CALL, "params": params})

    assert answer is not None
    assert answer["error"]["data"] == {"supported": supported, "requested": "v999.0.0"}
