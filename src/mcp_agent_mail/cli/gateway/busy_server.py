"""A server that is there and takes no call just now, told apart from one that is not there."""

from __future__ import annotations

import json

from mcp_agent_mail.cli.exit_codes import WireError, code_of
from mcp_agent_mail.cli.gateway.asked_wait import seconds_in
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server, Stranger
from mcp_agent_mail.core.errors import AgentMailError, RateLimited, Unavailable

_LIVENESS = "/health/liveness"
_ALIVE_WITHIN_S = 2.0
_MOST_BYTES = 4_096
_LONGEST_S = 60.0


def is_busy(refused: AgentMailError) -> bool:
    """Whether a server of ours has answered that the same call may do later."""
    is_ours = isinstance(refused, WireError) and not isinstance(refused, Stranger)
    return is_ours and code_of(refused) in (Unavailable.code, RateLimited.code)


def asked_to_wait_s(refused: AgentMailError) -> float | None:
    """For how long a busy server asks to be left alone, a minute at most; None where it does not say."""
    seconds = seconds_in(refused.data.get("retry_after_s")) if is_busy(refused) else None
    return None if seconds is None else min(seconds, _LONGEST_S)


def is_alive(server: Server) -> bool:
    """Whether one that was slow with a call is there all the same. It is asked what costs it nothing."""
    gateway = HttpGateway(server, answer_timeout_s=_ALIVE_WITHIN_S)
    try:
        return bool(json.loads(gateway.page(_LIVENESS, at_most=_MOST_BYTES)) == {"status": "alive"})
    except ValueError:
        return False
    except AgentMailError as refused:
        return is_busy(refused)
    finally:
        gateway.close()
