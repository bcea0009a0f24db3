"""Every tool called once, in an order that makes sense, over one MCP session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.served import Connection, git

PROJECT = "/code/contract"
OTHER_PROJECT = "/code/neighbour"
WINDOW = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"


class Story:
    """Calls every tool once in an order that makes sense, and keeps the results by name. `code` is an empty folder."""

    def __init__(self, connection: Connection, code: Path) -> None:
        self._connection = connection
        self._code = code
        self.results: dict[str, dict[str, Any]] = {}

    def does(self, tool: str, /, **arguments: Any) -> Any:  # plain JSON
        answer = self._connection.tool(tool, **arguments)
        assert not answer.get("isError"), f"{tool}: {answer!r:.800}"
        self.results[tool] = answer
        return answer["structuredContent"]

    def begins(self) -> None:
        """Two projects, four agents, a conversation."""
        self.does("health_check")
        for key in (OTHER_PROJECT, PROJECT):
            self.slug = self.does("ensure_project", human_key=key)["slug"]
        profile = {"program": "tests", "model": "none"}
        self.does("create_agent_identity", project_key=PROJECT, name_hint="GreenCastle", **profile)
        for name in ("RedStone", "GrayFox", "BlueLake"):
            self.does("register_agent", project_key=PROJECT, name=name, **profile)
        sent = self.does(
            "send_message",
            project_key=PROJECT,
            sender_name="BlueLake",
            to=["RedStone"],
            cc=["GreenCastle"],
            bcc=["GrayFox"],
            subject="Parser plan",
            body_md="The plan for the parser.",
            importance="high",
            ack_required=True,
            topic="parser",
            thread_id="plan-1",
            attachment_paths=["data:text/plain,The%20plan."],
        )
        self.sha256 = sent["attachments"][0]["sha256"]
        self.message_id = sent["deliveries"][0]["payload"]["id"]
        self.does(
            "reply_message", project_key=PROJECT, message_id=self.message_id, sender_name="RedStone", body_md="Yes."
        )

    def reserves_files(self) -> None:
        """A conflict, a look ahead, a renewal, and a release that passes something over."""
        of_blue = {"project_key": PROJECT, "agent_name": "BlueLake"}
        of_red = {"project_key": PROJECT, "agent_name": "RedStone"}
        held = self.does("file_reservation_paths", **of_blue, paths=["src/**", "docs/plan.md"])
        self.does("file_reservation_paths", **of_red, paths=["src/app.py", "README.md"], reason="the parser")
        self.does("check_file_reservation_conflicts", **of_red, paths=["src/app.py"])
        self.does("renew_file_reservations", **of_red, paths=["README.md"], file_reservation_ids=[4711])
        self.does("release_file_reservations", **of_blue, paths=["docs/plan.md", "docs/none.md"])
        self.does("force_release_file_reservation", **of_red, file_reservation_id=held["granted"][1]["id"])

    def builds(self) -> None:
        """A slot in use, and one's own."""
        of_blue = {"project_key": PROJECT, "agent_name": "BlueLake", "slot": "frontend-build"}
        self.does("acquire_build_slot", **of_blue)
        refused = self.does("acquire_build_slot", **{**of_blue, "agent_name": "RedStone"})
        assert [one["agent"] for one in refused["conflicts"]] == ["BlueLake"]
        self.does("acquire_build_slot", **of_blue)
        self.does("renew_build_slot", **of_blue)
        self.does("release_build_slot", **of_blue)

    def goes_on(self) -> None:
        """Reading, searching, marking, leaving and coming back."""
        self.does("fetch_inbox", project_key=PROJECT, agent_name="RedStone", include_bodies=True)
        self.does("fetch_topic", project_key=PROJECT, topic_name="parser")
        self.does("read_mail", project_key=PROJECT, message_id=self.message_id)
        self.does("list_threads", project_key=PROJECT)
        self.does("search_messages", project_key=PROJECT, query="plan")
        of_plan = {"project_key": PROJECT, "thread_id": "plan-1"}
        self.does("summarize_thread", **of_plan, include_examples=True)
        self.does("summarize_recent", project_key=PROJECT)
        self.does("fetch_summary", project_key=PROJECT)
        of_mine = {"project_key": PROJECT, "agent_name": "RedStone", "message_id": self.message_id}
        self.does("mark_message_read", **of_mine)
        self.does("acknowledge_message", **of_mine)
        self.does("message_status", **of_mine)
        self.does("wait_for_messages", project_key=PROJECT, agent_name="RedStone", timeout_s=1, after_cursor=0)
        self.does("fetch_inbox_events", project_key=PROJECT, agent_name="RedStone")
        self.does("set_status", project_key=PROJECT, agent_name="RedStone", status="busy", note="on it")
        self.does("deregister_agent", project_key=PROJECT, agent_name="GrayFox")
        self.does("unretire_agent", project_key=PROJECT, agent_name="GrayFox")
        self.does("archive_project", project_key=OTHER_PROJECT)
        self.does("unarchive_project", project_key=OTHER_PROJECT)
        self.does("list_agents", project_key=PROJECT)

    def works_in_a_window(self) -> None:
        """An agent that comes back in its window, which then is renamed and forgotten."""
        window = {"project_key": PROJECT, "window_uuid": WINDOW}
        profile = {"project_key": PROJECT, "program": "tests", "model": "none"}
        (first, again) = (
            self._connection.rpc("register_agent", profile, **{"X-Agent-Window": WINDOW}).value for _ in range(2)
        )
        assert again["id"] == first["id"]
        assert (again["window_id"], again["window_display_name"]) == (WINDOW, first["name"])
        self.does("list_window_identities", project_key=PROJECT)
        self.does("rename_window", **window, new_display_name="Reviews")
        self.does("expire_window", **window)

    def makes_a_product(self) -> None:
        """Two projects under one."""
        self.does("ensure_product", name="storefront")
        for key in (OTHER_PROJECT, PROJECT):
            self.does("products_link", product_key="storefront", project_key=key)
        product = {"product_key": "storefront"}
        self.does("search_messages_product", **product, query="plan")
        self.does("fetch_inbox_product", **product, agent_name="RedStone", include_bodies=True)
        self.does("summarize_thread_product", **product, thread_id="plan-1", include_examples=True)

    def asks_for_consent(self) -> None:
        """A request that is made and granted, and mail that is held meanwhile."""
        closed = {"project_key": PROJECT, "agent_name": "GreenCastle", "policy": "contacts_only"}
        self.does("set_contact_policy", **closed)
        pair = {"project_key": PROJECT, "from_agent": "GrayFox", "to_agent": "GreenCastle"}
        self.does("request_contact", **pair, reason="the parser")
        letter = {"sender_name": "GrayFox", "to": ["GreenCastle"], "subject": "Parser", "body_md": "May I?"}
        held = self.does("send_message", project_key=PROJECT, **letter)
        assert [one["code"] for one in held["held"]] == ["CONTACT_REQUIRED"]
        self.does("respond_contact", **pair, accept=True)
        taken = self.does("send_message", project_key=PROJECT, **letter)["deliveries"][0]["payload"]["id"]
        self.does("withdraw_message", project_key=PROJECT, sender_name="GrayFox", message_id=taken, reason="too late")
        self.does("list_contacts", project_key=PROJECT, agent_name="GreenCastle")

    def uses_macros(self) -> None:
        """A session that comes back, a look at the thread, a moment's reservation, a handshake with a welcome."""
        red = {"agent_name": "RedStone", "program": "tests", "model": "none"}
        wanted = {"file_reservation_paths": ["lib/**", "src/app.py"]}
        begun = self.does("macro_start_session", human_key=PROJECT, **red, **wanted)
        assert [len(begun["file_reservations"][key]) for key in ("granted", "conflicts")] == [1, 1]
        self.does("macro_prepare_thread", project_key=PROJECT, thread_id="plan-1", **red)
        of_blue = {"project_key": PROJECT, "agent_name": "BlueLake"}
        self.does("macro_file_reservation_cycle", **of_blue, paths=["tools/**", "lib/a.py"], auto_release=True)
        welcome = {"welcome_subject": "Parser", "welcome_body": "Hello!"}
        pair = {"requester": "BlueLake", "target": "RedStone"}
        self.does("macro_contact_handshake", project_key=PROJECT, **pair, **welcome, auto_accept=True)

    def keeps_house(self) -> None:
        """What only the operator may do, who comes over `/rpc`."""
        token = (self._connection.server.root / "operator.token").read_text().strip()  # type: ignore[attr-defined]
        answer = self._connection.rpc(
            "purge_old_messages", {"project_key": PROJECT, "max_age_days": 1}, Authorization=f"Bearer {token}"
        )
        assert answer.status == 200, answer
        text = json.dumps(answer.value, separators=(",", ":"), ensure_ascii=False)
        self.results["purge_old_messages"] = {"structuredContent": answer.value, "content": [{"text": text}]}

    def guards(self) -> None:
        """A code repository, and lets it go again."""
        git(self._code, "init", "--quiet")
        self.does("install_precommit_guard", project_key=PROJECT, code_repo_path=str(self._code))
        self.does("uninstall_precommit_guard", code_repo_path=str(self._code))
