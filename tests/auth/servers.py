"""Servers of each kind and mode with every credential that can be shown to them, over real sockets."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from joserfc.jwk import OctKey

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ISSUED_TOKEN_PREFIX, new_token, token_hash
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.domain.identity.issued_tokens import NewIssuedToken
from mcp_agent_mail.server.assembly import build_http_app
from mcp_agent_mail.server.transport.http import HttpApp
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx
from tests.attack.served_secrets import PRODUCT
from tests.auth.table import (
    ANOTHERS,
    EXPIRED,
    NONE,
    OPERATOR,
    OPERATORS_OWN,
    READER,
    REVOKED,
    WRITER,
    WRONG,
)
from tests.server.hosted import hosted
from tests.server.jwt.issuing import AUDIENCE, ISSUER, SECRET, claims, issuing, new_key, public, signed
from tests.server.whole_app import OPERATOR as OPERATOR_TOKEN
from tests.server.whole_app import open_services, settings_of

SERVER_TOKEN = "the-token-of-this-whole-server"
PROJECT = "/code/app"
NAMED, OTHER = "BlueLake", "RedStone"
"""The agent in whose name calls are made, and the one whose proof another has."""
ROLES = (READER, WRITER, OPERATOR)
_PROFILE = {"program": "tests", "model": "none"}
_DOORS = {"POSTAL_ENABLED": "true", "AGENTMAIL_ENABLED": "true", "POSTAL_MAX_WAIT_SECONDS": "0"}
_JWT = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_AUDIENCE": AUDIENCE, "HTTP_JWT_ISSUER": ISSUER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Where a credential is shown, and as which headers."""

    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One that is being served, with two agents in `PROJECT`; `tokens` are theirs by name."""

    url: str
    app: HttpApp
    services: Services
    store: Store
    tokens: Mapping[str, str]

    async def call(self, tool: str, **arguments: Any) -> Any:
        """As the operator; it must succeed."""
        return await _call(self.url, tool, **arguments)

    async def issue(self, **wish: Any) -> tuple[int, str]:
        """An issued token's number and text."""
        made = await self.call("create_issued_token", **wish)
        return made["id"], made["token"]


async def _call(url: str, tool: str, /, **arguments: Any) -> Any:
    async with httpx.AsyncClient(base_url=url, headers=bearer(OPERATOR_TOKEN), timeout=60) as client:
        answer = await client.post(f"/rpc/{tool}", json=arguments)
    assert answer.status_code == 200, f"{tool}: {answer.status_code} {answer.text[:500]}"
    return answer.json()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def open_server(directory: Path, **settings: str) -> AsyncIterator[Server]:
    loaded = settings_of(directory, **{"HTTP_RATE_LIMIT_ENABLED": "false", **_DOORS, **settings})
    async with open_services(loaded) as (services, store):
        app = build_http_app(loaded, services, operator_token=OPERATOR_TOKEN)
        async with hosted(app) as url:
            await _call(url, "ensure_project", human_key=PROJECT)
            await _call(url, "ensure_product", name=PRODUCT)
            await _call(url, "products_link", product_key=PRODUCT, project_key=PROJECT)
            tokens = {}
            for name in (NAMED, OTHER):
                agent = await _call(url, "register_agent", project_key=PROJECT, name=name, **_PROFILE)
                tokens[name] = agent["registration_token"]
            yield Server(url=url, app=app, services=services, store=store, tokens=tokens)


@asynccontextmanager
async def open_kind(kind: str, directory: Path, mode: str) -> AsyncIterator[tuple[Server, Mapping[str, Shown]]]:
    """A server of that kind and what is shown to it by the credential's name. For `static` some are shown to servers
    beside it, since each has one role.
    """
    async with AsyncExitStack() as stack:
        entered = stack.enter_async_context
        if kind == "static":
            servers = {
                role: await entered(
                    open_server(
                        directory / role, AGENT_AUTH=mode, HTTP_BEARER_TOKEN=SERVER_TOKEN, HTTP_BEARER_ROLE=role
                    )
                )
                for role in ROLES
            }
            yield servers[WRITER], await _static(servers)
        elif kind == "issued":
            server = await entered(open_server(directory, AGENT_AUTH=mode))
            yield server, await _issued(server)
        elif kind == "JWT HS":
            server = await entered(open_server(directory, AGENT_AUTH=mode, HTTP_JWT_SECRET=SECRET, **_JWT))
            former = OctKey.import_key(b"the key that there was before, and that is no more")
            forged = OctKey.import_key(b"a key that somebody else has made up for himself")
            yield server, _signed(server, "HS256", {}, forged=forged, former=former)
        else:
            issuer = await entered(issuing(public(new_key("RS256"), kid="one")))
            server = await entered(open_server(directory, AGENT_AUTH=mode, HTTP_JWT_JWKS_URL=issuer.url, **_JWT))
            yield (
                server,
                _signed(server, "RS256", {"kid": "one"}, forged=new_key("RS256", 1), former=new_key("RS256", 2)),
            )


async def _static(servers: Mapping[str, Server]) -> dict[str, Shown]:
    main = servers[WRITER]
    own, another = bearer(SERVER_TOKEN), {"X-Agent-Token": main.tokens[OTHER]}
    return {
        NONE: Shown(url=main.url, headers={}),
        WRONG: Shown(url=main.url, headers=bearer(SERVER_TOKEN[:-1] + "!")),
        **await _ended(main),
        **{role: Shown(url=server.url, headers=own) for role, server in servers.items()},
        ANOTHERS: Shown(url=main.url, headers={**own, **another}),
        OPERATORS_OWN: Shown(url=main.url, headers=bearer(OPERATOR_TOKEN)),
    }


async def _issued(server: Server) -> dict[str, Shown]:
    url = server.url
    by_role = {role: (await server.issue(role=role))[1] for role in ROLES}
    another = (await server.issue(agent_name=OTHER, project_key=PROJECT))[1]
    return {
        NONE: Shown(url=url, headers={}),
        WRONG: Shown(url=url, headers=bearer(new_token(ISSUED_TOKEN_PREFIX))),
        **await _ended(server),
        **{role: Shown(url=url, headers=bearer(text)) for role, text in by_role.items()},
        ANOTHERS: Shown(url=url, headers=bearer(another)),
        OPERATORS_OWN: Shown(url=url, headers=bearer(OPERATOR_TOKEN)),
    }


async def _ended(server: Server) -> dict[str, Shown]:
    """Issued tokens of operators: one whose time is over, though it stands in the book still, and one taken back."""
    text = new_token(ISSUED_TOKEN_PREFIX)
    hashed = token_hash(text)

    def unit(tx: Tx) -> Any:
        ended = Micros(tx.now - SECOND)
        new = NewIssuedToken(token_hash=hashed, role=Role.OPERATOR, agent_id=None, note="", expires_ts=ended)
        return tx.issued_tokens.add(new, tx.now)

    server.services.token_book.add(hashed, await server.store.write(unit))
    number, revoked = await server.issue(role=OPERATOR)
    await server.call("revoke_issued_token", issued_token_id=number)
    return {
        EXPIRED: Shown(url=server.url, headers=bearer(text)),
        REVOKED: Shown(url=server.url, headers=bearer(revoked)),
    }


def _signed(server: Server, algorithm: str, header: Mapping[str, Any], *, forged: Any, former: Any) -> dict[str, Shown]:
    """`forged` says the name of the issuer's key; the one that it has taken back said its own."""

    def shown(key: Any = None, head: Mapping[str, Any] = header, **said: Any) -> Shown:
        token = signed(jwt_claims(**said), key=key, algorithm=algorithm, header=head)
        return Shown(url=server.url, headers=bearer(token))

    return {
        NONE: Shown(url=server.url, headers={}),
        WRONG: shown(forged, role=OPERATOR),
        EXPIRED: shown(role=OPERATOR, exp=int(time.time()) - 1),
        REVOKED: shown(former, {"kid": "former"} if header else {}, role=OPERATOR),
        **{role: shown(role=role) for role in ROLES},
        ANOTHERS: shown(role=WRITER, agent=f"{OTHER}@{PROJECT}"),
        OPERATORS_OWN: Shown(url=server.url, headers=bearer(OPERATOR_TOKEN)),
    }


def jwt_claims(**changed: Any) -> dict[str, Any]:
    """Good ones as of now."""
    now_s = int(time.time())
    return claims(**{"iat": now_s - 1, "exp": now_s + 3_600, **changed})
