"""The tools by which `am import` brings records in: for the operator alone, over `/rpc` and in process."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import Count, Flag, Text, Texts
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.domain.importing.lines import UnfitRecord, unpack
from mcp_agent_mail.domain.importing.records import MAX_KEY, MAX_OLDEST, SourceProject, SourceStore
from mcp_agent_mail.domain.importing.report import tally_to_json
from mcp_agent_mail.domain.importing.steps import PIECE_BYTES, ContentStep, RecordsStep
from mcp_agent_mail.features.importing.requests import ImportRequest
from mcp_agent_mail.features.importing.service import ImportService

_PACKED = Text(max_length=4_000_000, may_be_blank=True)
_MOST_OFFSET = 1 << 40


def importing_tools(service: ImportService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """MCP clients neither see nor run them."""

    async def import_records(
        system: Annotated[str, Text(max_length=MAX_KEY)],
        store_id: Annotated[str, Text(max_length=MAX_KEY)],
        records: Annotated[str, _PACKED],
        context: Annotated[str, _PACKED] = "",
        into: Annotated[str | None, Text(max_length=4_096)] = None,
        apply: Annotated[bool, Flag()] = False,
        oldest_mail: Annotated[list[str] | None, Texts(max_items=MAX_OLDEST, max_length=MAX_KEY)] = None,
    ) -> Json:
        """One batch of another system's records, as am import packs them: counted, or with apply written. Safe to
        repeat. Operator only.
        """
        caller = await current_caller()
        require_operator(caller)  # Before anything of a stranger's is unpacked.
        source = SourceStore(system=system, store_id=store_id, oldest_mail=tuple(oldest_mail or ()))
        request = ImportRequest(source=source, project=into, apply=apply)
        projects = unpack(context) if context else []
        step = RecordsStep(
            records=tuple(unpack(records)), context=tuple(one for one in projects if isinstance(one, SourceProject))
        )
        answer = await service.take(caller, request, step)
        return {"wants": list(answer.wants), "tally": tally_to_json(answer.tally)}

    async def import_content(
        sha256: Annotated[str, Text(max_length=64)],
        offset: Annotated[int, Count(0, _MOST_OFFSET)],
        piece: Annotated[str, Text(max_length=2 * PIECE_BYTES, may_be_blank=True)],
        is_last: Annotated[bool, Flag()],
    ) -> Json:
        """A piece, in base64, of a content that a batch of am import wants. Operator only."""
        try:
            content = base64.b64decode(piece, validate=True)
        except (binascii.Error, ValueError) as broken:
            raise UnfitRecord("piece is no base64.", hint="Use the am of the same version as the server.") from broken
        step = ContentStep(sha256=sha256, offset=offset, piece=content, is_last=is_last)
        await service.keep_piece(await current_caller(), step)
        return {"kept": is_last}

    return [
        tool(
            import_records,
            cluster="infrastructure",
            title="Take over a batch of another system's records",
            idempotent=True,
            operator_only=True,
        ),
        tool(
            import_content,
            cluster="infrastructure",
            title="Take over a piece of a content",
            idempotent=True,
            operator_only=True,
        ),
    ]
