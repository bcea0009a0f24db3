"""The edge as the settings have it: who may come in, as what, and how often."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.roles import ROLES_BY_WORD
from mcp_agent_mail.core.settings.addresses import base_url
from mcp_agent_mail.core.settings.checks_edge import leads_to_sign_in
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.browsers import Origins
from mcp_agent_mail.server.edge.discovery import SignIn
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.proxies import Proxies
from mcp_agent_mail.server.edge.rates import NO_RATES, REFUSED_A_MINUTE, Rate, RateClass, Rates

logger = logging.getLogger("mcp_agent_mail.http")


def edge_of(settings: Settings, bearers: Bearers) -> Edge:
    """Over what `bearers` accept."""
    return Edge(
        gate_of(settings, bearers),
        proxies=Proxies(settings.http_trusted_proxies or ()),
        rates=rates_of(settings),
        challenge=_challenge(settings),
    )


def gate_of(settings: Settings, bearers: Bearers) -> Gate:
    """The name that the server listens on is always its own, whatever list stands beside it, and so is the one by which
    others reach it.
    """
    public = urlsplit(settings.http_public_url).hostname if settings.http_public_url else None
    named = (public,) if public else ()
    return Gate(
        allowed_hosts=(settings.http_host, settings.facades_host, *named, *settings.http_allowed_hosts),
        bearers=bearers,
        origins=Origins((settings.http_cors_origins or ()) if settings.http_cors_enabled else ()),
    )


def bearers_of(settings: Settings, services: Services, *, operator_token: str) -> Bearers:
    """What opens this server: `operator_token` too, where the operator may come in."""
    token = settings.http_bearer_token
    rules = BearerRules(
        server_token=token.reveal() if token else None,
        operator_token=operator_token,
        server_role=ROLES_BY_WORD[settings.http_bearer_role],
        has_roles=settings.http_rbac_enabled,
        trust_loopback=settings.http_allow_localhost_unauthenticated,
        challenge=_challenge(settings),
    )
    _warn_of_readers(settings, services.token_book.count_readers())
    if not settings.http_jwt_enabled:
        return Bearers(rules, tokens=services.token_book)
    from mcp_agent_mail.server.jwt.verifier import jwt_verifier  # noqa: PLC0415  # who has none does not wait for it

    jwts = jwt_verifier(settings, clock=system_clock)
    services.pages.sessions.jwt_judges = jwts.judges
    if jwts.key_set is not None:
        services.also_kept.append(jwts.key_set.keeper)
    return Bearers(rules, tokens=services.token_book, jwts=jwts)


def _warn_of_readers(settings: Settings, readers: int) -> None:
    """Whoever shows nothing where nothing has to be shown is a writer. Of the settings alone `check_edge` warns."""
    is_locked = settings.http_bearer_token is not None or settings.http_jwt_enabled
    if not readers or not settings.http_rbac_enabled:
        return
    if not is_locked or settings.http_allow_localhost_unauthenticated:
        where = "this machine" if is_locked else "anywhere"
        logger.warning(
            "readers' tokens keep nobody from writing: without a token whoever asks from %s is a writer",
            where,
            extra={"facts": {"readers": readers}},
        )


def rates_of(settings: Settings) -> Rates:
    """None where they are off."""
    if not settings.http_rate_limit_enabled:
        return NO_RATES
    return Rates(
        {
            RateClass.TOOLS: Rate(
                per_minute=settings.http_rate_limit_tools_per_minute, burst=settings.http_rate_limit_tools_burst
            ),
            RateClass.RESOURCES: Rate(
                per_minute=settings.http_rate_limit_resources_per_minute,
                burst=settings.http_rate_limit_resources_burst,
            ),
            RateClass.OTHERS: Rate(per_minute=settings.http_rate_limit_per_minute),
            RateClass.REFUSED: Rate(per_minute=REFUSED_A_MINUTE),
        }
    )


def sign_in_of(settings: Settings) -> SignIn | None:
    """None without JWTs of an issuer that is a URL: there is nowhere to sign in."""
    issuer = settings.http_jwt_issuer
    if not settings.http_jwt_enabled or issuer is None or not leads_to_sign_in(issuer):
        return None
    own = settings.http_public_url or base_url(settings.http_host, settings.http_port)
    return SignIn(base_url=own.rstrip("/"), issuer=issuer)


def _challenge(settings: Settings) -> bytes:
    sign_in = sign_in_of(settings)
    return b"Bearer" if sign_in is None else sign_in.challenge()
