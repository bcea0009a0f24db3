"""An identity provider: keys, tokens signed with them, and its keys published over real HTTP."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from mcp_agent_mail.core.clock import SECOND, Micros

SECRET = "a shared key of forty characters, or so".replace(" ", "_")
ISSUER = "https://id.example/realms/mail"
AUDIENCE = "agent-mail"
NOW_S = 1_800_000_000


@dataclass
class FakeClock:
    """Stands until it is moved."""

    now_s: float = NOW_S

    def __call__(self) -> Micros:
        return Micros(int(self.now_s * SECOND))


@cache
def new_key(algorithm: str, number: int = 0) -> Key:  # noqa: ARG001  # the cache tells numbers apart
    """The same one for the same number: keys of RSA take long to make."""
    if algorithm.startswith("HS"):
        return OctKey.import_key(SECRET.encode())
    if algorithm == "EdDSA":
        return OKPKey.generate_key("Ed25519")
    if algorithm.startswith("ES"):
        return ECKey.generate_key({"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}[algorithm])
    return RSAKey.generate_key(2_048)


def b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def claims(**changed: Any) -> dict[str, Any]:
    """Good ones; a claim that is changed to None is left out."""
    good = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": NOW_S, "exp": NOW_S + 900, **changed}
    return {name: value for name, value in good.items() if value is not None}


def signed(
    said: Mapping[str, Any] | bytes | None = None,
    *,
    key: Key | None = None,
    algorithm: str = "HS256",
    header: Mapping[str, Any] | bytes | None = None,
) -> str:
    """A token. `header` is what stands in it beside `alg`; as bytes it is the whole header, whatever it says."""
    head = header if isinstance(header, bytes) else json.dumps({"alg": algorithm, **(header or {})}).encode()
    body = said if isinstance(said, bytes) else json.dumps(claims() if said is None else said).encode()
    start = f"{b64(head)}.{b64(body)}"
    made = JWSRegistry.algorithms[algorithm].sign(start.encode(), key or new_key(algorithm))
    return f"{start}.{b64(made)}"


def public(key: Key, **said: Any) -> dict[str, Any]:
    """As a key set has it."""
    return {**key.as_dict(private=False), **said}


def key_set(*keys: Mapping[str, Any]) -> bytes:
    return json.dumps({"keys": keys}).encode()


def answer(body: bytes, *headers: str, status: int = 200) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} X", *headers, "", ""]).encode() + body


@dataclass
class Issuer:
    """Answers each look with `body`, or with `raw` as it stands. `is_away`: it hangs up. After `before` it says nothing
    more if it `hangs`, and `drip` for ever, one after the other.
    """

    port: int = 0
    body: bytes = b""
    raw: bytes | None = None
    is_away: bool = False
    hangs: bool = False
    drip: bytes | None = None
    before: bytes = b""
    heads: list[str] = field(default_factory=list)
    ended: int = 0
    gate: asyncio.Event | None = None
    """While it is there and not set, an answer waits for it; what is published is what was when it was asked."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/keys?tenant=1"

    @property
    def looks(self) -> int:
        return len(self.heads)

    @property
    def paths(self) -> list[str]:
        return [head.split(" ")[1] for head in self.heads]

    def publish(self, *keys: Mapping[str, Any]) -> None:
        self.body = key_set(*keys)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.ended += 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_away:
            return
        content = self.raw if self.raw is not None else answer(self.body)
        if self.gate is not None:
            await self.gate.wait()
        writer.write(self.before)
        if self.hangs:
            await reader.read()
        while self.drip is not None:
            writer.write(self.drip)
            await writer.drain()
            await asyncio.sleep(0.01)
        writer.write(content)
        await writer.drain()


@asynccontextmanager
async def issuing(*keys: Mapping[str, Any]) -> AsyncIterator[Issuer]:
    issuer = Issuer()
    issuer.publish(*keys)
    server = await asyncio.start_server(issuer.serve, "127.0.0.1", 0)
    issuer.port = server.sockets[0].getsockname()[1]
    try:
        yield issuer
    finally:
        server.close()


async def until(is_so: Callable[[], bool], *, within_s: float = 20.0) -> None:
    """Let the others run until it is so."""
    async with asyncio.timeout(within_s):
        while not is_so():  # noqa: ASYNC110  # what it waits for has no event of its own
            await asyncio.sleep(0.005)
