"""`GET` and `HEAD /attachments/{project slug}/{sha256}`: what mail carries, for whoever sees it. Admitted like `/rpc`.

What agents send is data: browsers show raster images alone, and keep everything else as a file unread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.resources import BYTES_TYPE
from mcp_agent_mail.core.tools import Json, call_as
from mcp_agent_mail.domain.attachments import ATTACHMENTS_FOLDER, UnfitDigest, is_content_path, parse_digest
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.messaging.attachments import SeenAttachment, UnknownAttachment, unknown_attachment
from mcp_agent_mail.features.messaging.contents import OpenContent
from mcp_agent_mail.features.messaging.service import MessagingService
from mcp_agent_mail.server.dispatch import RequestFacts, masked
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.responses import send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status, retry_headers
from mcp_agent_mail.server.transport.answers import begin_stream
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.partial_content import ContentPart, NoSuchPart, is_known, read_range

PREFIX = "/attachments/"

_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; sandbox"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    # The content stays what it is; who may read it does not, and a copy on a disk asks nobody.
    (b"cache-control", b"no-store"),
    (b"accept-ranges", b"bytes"),
)


class AttachmentEndpoint:
    def __init__(self, service: MessagingService, current_caller: Callable[[], Awaitable[Caller]]) -> None:
        self._service = service
        self._current_caller = current_caller

    async def answer(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:
        """One request. What the caller may not see is as unknown as what is nowhere."""
        try:
            seen = await self._find(scope["path"], facts)
            await send_attachment(self._service, seen, scope, receive, send)
        except AgentMailError as error:
            await send_value(send, http_status(error), error_object(error), *retry_headers(error), *_ALWAYS)

    async def _find(self, path: str, facts: RequestFacts) -> SeenAttachment:
        slug, text = _asked_for(path)
        try:
            sha256 = parse_digest(text)

            async def find() -> Json:
                caller = await self._current_caller()
                if slug is None and caller.kind is not CallerKind.AGENT:
                    raise _no_project(sha256)
                return await self._service.attachment(caller, sha256, slug)

            found: SeenAttachment = await call_as(facts.credentials, find, {})
            return found
        except (UnfitDigest, UnknownProject):
            raise unknown_attachment(text) from None
        except AgentMailError:
            raise
        except Exception as error:  # noqa: BLE001  # a bug becomes INTERNAL, as for tools
            raise masked(error, what="the look for an attachment", request_id=facts.request_id) from None


async def send_attachment(
    service: MessagingService, seen: SeenAttachment, scope: Scope, receive: Receive, send: Send
) -> None:
    """The content that a reader was found to see, or the part that the request wants. What is raised comes before
    anything is sent.
    """
    headers: Headers = dict(scope["headers"])
    tag = f'"{seen.content.sha256}"'.encode()
    if is_known(headers.get(b"if-none-match"), tag):
        await _send_whole(send, 304, [(b"etag", tag), *_ALWAYS])
        return
    async with service.opened(seen) as content:
        begin_stream(scope)
        await _send_content(seen, content, scope["method"], headers, receive, send)


def _asked_for(path: str) -> tuple[str | None, str]:
    """Project and digest. Without a project: `<sha256>`, and `<xx>/<sha256>.<ext>`, as bodies have it."""
    place = path.removeprefix(PREFIX)
    if is_content_path(f"{ATTACHMENTS_FOLDER}/{place}"):
        return None, place.partition("/")[2].partition(".")[0]
    slug, slash, text = place.partition("/")
    return (slug, text) if slash else (None, slug)


def _no_project(sha256: str) -> UnknownAttachment:
    return UnknownAttachment(
        "This address names no project, and no token says which is yours.",
        hint=f"Ask for {PREFIX}<project slug>/{sha256}",
        data={"sha256": sha256},
    )


async def _send_content(
    seen: SeenAttachment, content: OpenContent, method: str, headers: Headers, receive: Receive, send: Send
) -> None:
    size, tag = seen.content.bytes, f'"{seen.content.sha256}"'.encode()
    about = [(b"etag", tag), *_ALWAYS]
    wanted = None
    if method == "GET" and headers.get(b"if-range", tag) == tag:
        try:
            wanted = read_range(headers.get(b"range"), size)
        except NoSuchPart:
            await _send_whole(send, 416, [*about, (b"content-range", b"bytes */%d" % size)])
            return
    status, part = 200, ContentPart(0, size)
    if wanted is not None:
        status, part = 206, wanted
        about.append((b"content-range", part.of(size)))
    about += [*_shown_as(seen), (b"content-length", b"%d" % part.size)]
    if method == "HEAD":
        await _send_whole(send, status, about)
        return
    await send({"type": "http.response.start", "status": status, "headers": about})
    gone: list[bool] = []
    with RequestHearing(receive, send).watched(lambda: gone.append(True)):
        async for piece in content.chunks(part.first, part.size):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            if gone:
                return
    await send({"type": "http.response.body", "body": b""})


async def _send_whole(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    """An answer without a body."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _shown_as(seen: SeenAttachment) -> list[tuple[bytes, bytes]]:
    """Its media type, and whether a browser shows it: by the content's own first bytes, not by what it is called."""
    media_type, disposition = (seen.media_type, "inline") if seen.is_image else (BYTES_TYPE, "attachment")
    return [
        (b"content-type", media_type.encode()),
        (b"content-disposition", f"{disposition}; {_file_name(seen.name)}".encode()),
    ]


def _file_name(name: str) -> str:
    """As RFC 6266 wants it: for old readers in ASCII, for all others as it is."""
    plain = "".join(letter if " " <= letter <= "~" and letter not in '"\\%' else "_" for letter in name)
    return f"filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
