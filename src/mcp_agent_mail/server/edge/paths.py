"""Every path of the server has a class, and each class says who may ask for it, how, and what it counts as."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, TypeVar

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.server.edge.rates import RateClass


class PathClass(StrEnum):
    PROBE = "probe"
    DISCOVERY = "discovery"
    MCP = "mcp"
    RPC = "rpc"
    GUARD = "guard"
    METRICS = "metrics"
    ATTACHMENT = "attachment"
    REST = "rest"
    PAGE = "page"
    ASSET = "asset"
    DOOR = "door"


class AcceptedBearers(StrEnum):
    """Which of them count on a path: `NONE` is looked at, `ANY` does, all but the operator's own token do
    (`NOT_OPERATORS`).
    """

    NONE = "none"
    ANY = "any"
    NOT_OPERATORS = "not the operator's"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRule:
    """`methods` are those that are answered; None leaves them to whoever answers. `least` is the role that is needed to
    come in at all: what is called there may need a higher one. `has_cors`: pages of HTTP_CORS_ORIGINS may ask.
    `rate`: what a request counts as; None leaves it to what is called there. `holds_mail`: answers may, so that nobody
    keeps them. `from_any_host`: it is answered whatever Host and Origin say.
    """

    methods: tuple[str, ...] | None = None
    least: Role = Role.READER
    accepts: AcceptedBearers = AcceptedBearers.ANY
    has_cors: bool = False
    rate: RateClass | None = RateClass.OTHERS
    holds_mail: bool = True
    from_any_host: bool = False


_READ = ("GET", "HEAD")

RULES: Mapping[PathClass, PathRule] = MappingProxyType(
    {
        PathClass.PROBE: PathRule(
            methods=_READ, accepts=AcceptedBearers.NONE, rate=None, holds_mail=False, from_any_host=True
        ),
        PathClass.DISCOVERY: PathRule(
            methods=_READ, accepts=AcceptedBearers.NONE, has_cors=True, holds_mail=False, from_any_host=True
        ),
        PathClass.MCP: PathRule(has_cors=True),
        PathClass.RPC: PathRule(methods=("POST",), has_cors=True, rate=None),
        PathClass.GUARD: PathRule(methods=("POST",)),
        PathClass.METRICS: PathRule(methods=("GET",)),
        PathClass.ATTACHMENT: PathRule(methods=_READ),
        PathClass.REST: PathRule(has_cors=True, rate=None),
        PathClass.PAGE: PathRule(),
        PathClass.ASSET: PathRule(methods=_READ, accepts=AcceptedBearers.NONE, holds_mail=False),
        PathClass.DOOR: PathRule(least=Role.WRITER, accepts=AcceptedBearers.NOT_OPERATORS, rate=RateClass.TOOLS),
    }
)

LIVENESS = "/health/liveness"
READINESS = "/health/readiness"
WELL_KNOWN = "/.well-known/"
RPC_PREFIX = "/rpc/"

_OURS = {
    LIVENESS: PathClass.PROBE,
    READINESS: PathClass.PROBE,
    WELL_KNOWN: PathClass.DISCOVERY,
    RPC_PREFIX: PathClass.RPC,
}


Found = TypeVar("Found")


class ByPath(Generic[Found]):
    """What stands at each path: at whole ones, and with a closing slash at all below a first part (`/` is
    none); at `whole` ones whatever they end with.
    """

    def __init__(self, paths: Mapping[str, Found], *, whole: Mapping[str, Found] = MappingProxyType({})) -> None:
        self._whole = {**{path: one for path, one in paths.items() if not _is_below(path)}, **whole}
        self._below = {path: one for path, one in paths.items() if _is_below(path)}

    def find(self, path: str) -> Found | None:
        """None for a path that nothing is served at."""
        return self._whole.get(path) or self._below.get(path[: path.find("/", 1) + 1])

    def listed(self) -> dict[str, Found]:
        """All of them, for whoever checks them."""
        return {**self._below, **self._whole}


def _is_below(path: str) -> bool:
    return path.endswith("/") and path != "/"


def both_forms(paths: tuple[str, ...]) -> frozenset[str]:
    """Each path with and without its closing slash: a redirect would lose the POST of some clients."""
    bare = {f"/{path.strip('/')}" for path in paths}
    return frozenset(form for path in bare for form in (path, f"{path.rstrip('/')}/"))


class PathTable(ByPath[PathClass]):
    """The class of each path that is served."""

    def __init__(self, mcp_paths: Iterable[str], others: Mapping[str, PathClass]) -> None:
        super().__init__({**_OURS, **others}, whole=dict.fromkeys(mcp_paths, PathClass.MCP))
