"""What rates, roles and JWTs cost a request: `python -m benchmarks.edge_costs`.

The CPU of the server per request of the mixed load over MCP, each client showing the server's token, with rates and
roles on against both off, in alternating pairs; and beside them with a JWT shown instead, for which there is no bound.
See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from joserfc import jwt
from joserfc.jwk import OctKey

from benchmarks.load import drive
from benchmarks.mix import MixedWork, Pool, agent_names
from benchmarks.processes import Server, cpu_s
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import CLIENTS, PROJECT, populate, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import McpSession, Refused, Rpc

TARGET = 1.03
TOKEN = "the-token-of-the-benchmark"
KEY = "k" * 32

_LOCKED = {"HTTP_BEARER_TOKEN": TOKEN, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "true"}
"""What the benchmark asks beside its load shows no token."""
_ON = {
    **_LOCKED,
    "HTTP_RBAC_ENABLED": "true",
    "HTTP_RATE_LIMIT_ENABLED": "true",
    "HTTP_RATE_LIMIT_PER_MINUTE": "1000000",
    "HTTP_RATE_LIMIT_TOOLS_PER_MINUTE": "1000000",
    "HTTP_RATE_LIMIT_RESOURCES_PER_MINUTE": "1000000",
}
SERVERS = {
    "off": {**_LOCKED, "HTTP_RBAC_ENABLED": "false", "HTTP_RATE_LIMIT_ENABLED": "false"},
    "on": _ON,
    "jwt": {**_ON, "HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": KEY},
}


class Bearing(McpSession):
    """A session, each of whose requests shows a bearer token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._bearer = f"Authorization: Bearer {token}\r\n"
        self._headers = self._bearer

    def greeted(self, head: bytes) -> None:
        super().greeted(head)
        self._headers += self._bearer


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edge_costs", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10, help="alternating pairs")
    parser.add_argument("--seconds", type=float, default=4.0, help="measured time of each phase")
    parser.add_argument("--messages", type=int, default=5_000, help="stored before it begins")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/edge-costs.json"))
    return parser.parse_args(argv)


def shown_by(name: str) -> str:
    """The token that clients of this server show."""
    if name != "jwt":
        return TOKEN
    claims = {"sub": "benchmark", "role": "writer", "exp": int(time.time()) + 3_600}
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(KEY))


def cpu_us_per_request(stand: Stand, server: Server, name: str, pool: Pool, seed: int, seconds: float) -> float:
    """Of the server's process alone."""
    names, token = agent_names(CLIENTS), shown_by(name)
    pairs = [
        (Bearing(token), MixedWork(PROJECT, agent, names, pool, 1_000 * seed + n)) for n, agent in enumerate(names)
    ]
    wait_drained(server)
    with stand.phase(name, server):
        before = cpu_s(server.process.pid)
        sample = drive(server.port, pairs, seconds)
        used_s = cpu_s(server.process.pid) - before
    if sample.failures or not sample.counted:
        raise Refused(f"{sample.failures} calls failed: {sample.first_failure}")
    return 1e6 * used_s / sample.answered


def measure(stand: Stand, servers: dict[str, Server], chosen: argparse.Namespace) -> list[dict[str, float]]:
    """Of each server the same calls in each round; odd rounds run in reverse order."""
    pools, rounds = {name: Pool(seed=2) for name in servers}, []
    for number in range(chosen.pairs):
        order = list(servers) if number % 2 == 0 else list(reversed(servers))
        seen = {
            name: cpu_us_per_request(stand, servers[name], name, pools[name], number, chosen.seconds) for name in order
        }
        print(f"{number + 1}/{chosen.pairs}: {seen} {seen['on'] / seen['off']:.3f}", file=sys.stderr, flush=True)
        rounds.append(seen)
    return rounds


def figures_of(rounds: list[dict[str, float]]) -> list[Figure]:
    return [
        Figure(
            name="CPU of the server per request, rates and roles on against off",
            values=[one["on"] / one["off"] for one in rounds],
            target=TARGET,
        ),
        Figure(name="the same with a JWT shown", values=[one["jwt"] / one["off"] for one in rounds]),
        *(
            Figure(name=f"CPU of the server per request, {name}", values=[one[name] for one in rounds], unit="us")
            for name in SERVERS
        ),
    ]


def main() -> int:
    chosen = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="agent-mail-edge-") as scratch, Stand(Path(scratch)) as stand:
        servers = {name: stand.ours(stand.scratch / name, Rpc(), **env) for name, env in SERVERS.items()}
        for server in servers.values():
            populate(server, chosen.messages)
        rounds = measure(stand, servers, chosen)
    figures = figures_of(rounds)
    print(table(f"Mixed load over MCP, {CLIENTS} clients (median of {chosen.pairs} pairs, range)", figures))
    totals = statistics.fmean(one["on"] for one in rounds) / statistics.fmean(one["off"] for one in rounds)
    print(f"ratio of the means: {totals:.3f}")
    return publish(figures, stand.seen, chosen.json, rounds=rounds)


if __name__ == "__main__":
    sys.exit(main())
