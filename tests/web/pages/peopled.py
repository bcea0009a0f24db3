"""A server with two projects and mail in them, and hostile text wherever peers write."""

from __future__ import annotations

from pathlib import Path

from tests.server.whole_app import OPERATOR, WholeApp

HOSTILE = "<img src=x onerror=alert(1)>"
AS_OPERATOR = {"authorization": f"Bearer {OPERATOR}"}


async def people(app: WholeApp, directory: Path) -> str:
    """Returns the key of the project `shop`."""
    for name in ("shop", "bills"):
        await app.call("ensure_project", human_key=str(directory / name))
    shop, bills = str(directory / "shop"), str(directory / "bills")
    for project, name in ((shop, "BlueLake"), (shop, "RedStone"), (bills, "TealRiver"), (bills, "BlueLake")):
        await app.call(
            "register_agent", project_key=project, program="p", model="m", name=name, task_description=HOSTILE
        )
    sent = [
        (shop, "BlueLake", "RedStone", "Coupon one", "urgent", "cart"),
        (shop, "RedStone", "BlueLake", "Coupon two", "normal", None),
        (bills, "TealRiver", "BlueLake", "Coupon three", "normal", "cart"),
        (bills, "BlueLake", "Human", "Coupon four", "normal", None),
    ]
    for project, sender, to, subject, importance, topic in sent:
        await app.call(
            "send_message", project_key=project, sender_name=sender, to=[to], subject=f"{subject} {HOSTILE}",
            body_md="The bank.", importance=importance, topic=topic,
        )  # fmt: skip
    await app.call(
        "file_reservation_paths", project_key=shop, agent_name="BlueLake", paths=["src/cart/**"], reason=HOSTILE
    )
    return shop
