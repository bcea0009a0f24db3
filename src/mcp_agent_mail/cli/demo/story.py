"""The task of the demo: a price that rounds the wrong way, planned by one agent and fixed by the other."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from mcp_agent_mail.cli.demo.agents import CallTool, ScriptedAgent, Told, fastmcp_client, official_client, register

THREAD = "rounding"
PLANNER = "BlueLake"
MAKER = "RedStone"
_ARCHIVE_TIMEOUT_S = 20.0


async def play(url: str, project_key: str, told: Told, *, pause_s: float) -> dict[str, Any]:
    """Let both agents work until the task is done and archived. The maker's `whois` with its commits."""
    async with official_client(f"{url}/mcp") as planners, fastmcp_client(f"{url}/mcp") as makers:
        await planners("ensure_project", {"human_key": project_key})
        planner, maker = await asyncio.gather(
            register(
                planners,
                told,
                pause_s,
                project_key=project_key,
                name=PLANNER,
                program="demo-planner",
                model="scripted",
                task_description="Plans the fix of price rounding",
            ),
            register(
                makers,
                told,
                pause_s,
                project_key=project_key,
                name=MAKER,
                program="demo-maker",
                model="scripted",
                task_description="Fixes price rounding",
            ),
        )
        await asyncio.gather(_plan(planner), _make(maker))
        await wait_for_archive(planners)
        about_maker = {"project_key": project_key, "agent_name": MAKER, "commit_limit": 10}
        whois: dict[str, Any] = await makers("whois", about_maker)
        return whois


async def _plan(agent: ScriptedAgent) -> None:
    await agent.send(
        [MAKER],
        "price() rounds 2.675 to 2.67",
        "`shop/price.py` uses `round()` on floats, so invoices are a cent short.\n\n"
        "Can you take it? I keep `shop/tax.py`.",
        thread_id=THREAD,
        importance="high",
        ack_required=True,
    )
    question = await agent.next_mail()
    await agent.reply(question, "Half up, as the invoices say. Use `Decimal`; cents as integers would change the API.")
    done = await agent.next_mail()
    await agent.reply(done, "Checked against last month's invoices: equal to the cent. Thank you!", cc=["Human"])


async def _make(agent: ScriptedAgent) -> None:
    task = await agent.next_mail()
    await agent.reply(task, "Taken. Half up or half even? And may I switch `price()` to `Decimal`?")
    await agent.next_mail()
    await agent.reply(
        task,
        "Done:\n\n```python\namount.quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)\n```\n\n"
        "- `tests/test_price.py` has 2.675, 2.665 and 0.005\n- `shop/tax.py` untouched",
        ack_required=True,
    )
    await agent.next_mail()


async def wait_for_archive(call: CallTool) -> None:
    """Git follows within a second; a demo that ends before would point at files that are not there yet."""
    give_up_at = time.monotonic() + _ARCHIVE_TIMEOUT_S
    while time.monotonic() < give_up_at:
        health = await call("health_check", {})
        if health["archive"]["pending_events"] == 0:
            return
        await asyncio.sleep(0.1)
