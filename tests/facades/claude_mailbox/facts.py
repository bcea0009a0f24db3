"""What is kept of ClaudeMailbox, row by row, each with the tests that show it: of its published page, of its later
program, of the points where those two differ, and of what is promised beside.
"""

from __future__ import annotations

from collections.abc import Mapping

_HTTP = "facades/claude_mailbox/test_"
_CLI = "cli/claude_mailbox/test_"
_SERVICE = "cli/service/test_"
_FEATURE = "features/doors/test_mailbox_"

_DAEMON = {
    "daemon: listens on 37849 and 47822 with /mcp, /v1 and /health": (
        f"{_HTTP}endpoint.py::test_both_ports_are_the_doors_and_say_what_they_are_to_anybody",
        "pages/test_switch_from_claude_mailbox.py::test_the_page_names_the_ports_that_are_the_defaults",
    ),
    "daemon: its file is one SQLite database": (
        f"{_HTTP}endpoint.py::test_the_database_that_health_names_is_the_live_one",
    ),
    "daemon: mailbox.json and the flags of serve": (
        f"{_CLI}server_process.py::test_a_config_file_says_what_flags_say_and_flags_beat_it",
    ),
    "daemon: X-Mailbox makes and refreshes, arguments beat it": (
        f"{_HTTP}routes.py::test_a_request_with_the_header_makes_the_mailbox_and_refreshes_it",
        f"{_HTTP}tools.py::test_opening_a_connection_with_the_header_is_being_there",
        f"{_HTTP}tools.py::test_arguments_beat_the_header_and_need_none",
    ),
    "daemon: five tools with their arguments": (
        f"{_HTTP}tools.py::test_exactly_five_tools_are_listed_with_their_arguments",
        f"{_HTTP}tools.py::test_by_the_header_alone_mail_goes_there_and_is_taken_there",
        f"{_HTTP}tools.py::test_a_mailbox_is_renamed_with_its_mail",
    ),
    "daemon: mcp-stdio is a proxy by CLAUDE_MAILBOX_URL": (
        f"{_CLI}stdio_proxy.py::test_calls_go_to_the_server_and_come_back",
        f"{_CLI}stdio_proxy.py::test_it_lists_what_the_server_lists",
    ),
    "daemon: POST /v1/send": (
        f"{_HTTP}routes.py::test_a_message_sent_is_told_with_id_parties_and_time",
        f"{_HTTP}routes.py::test_a_send_that_lacks_something_says_what_and_stores_nothing",
    ),
    "daemon: GET /v1/peek": (f"{_HTTP}routes.py::test_a_look_changes_nothing_and_a_check_takes_all_of_it_once",),
    "daemon: POST /v1/check-inbox, 403 for another's": (
        f"{_HTTP}callers.py::test_a_check_by_another_name_takes_nothing",
    ),
    "daemon: GET /v1/list hides the idle but the caller and who has mail for it": (
        f"{_FEATURE}changes.py::test_idle_ones_are_hidden_but_for_who_asks_and_whose_mail_waits_for_them",
        f"{_HTTP}routes.py::test_the_list_says_what_waits_and_whose_mail_waits_for_you",
    ),
    "daemon: POST /v1/rename and its reasons": (
        f"{_HTTP}routes.py::test_another_name_takes_what_waits_along",
        f"{_HTTP}routes.py::test_a_rename_that_cannot_be_says_why_and_changes_nothing",
        f"{_HTTP}routes.py::test_the_same_name_transfers_nothing",
    ),
    "daemon: GET /v1/watch: one winner, the oldest, woken by a rename": (
        f"{_HTTP}routes.py::test_of_several_watches_the_oldest_gets_it_and_the_others_go_on",
        f"{_HTTP}routes.py::test_a_watch_in_vain_ends_by_its_time",
        f"{_HTTP}routes.py::test_a_rename_wakes_who_watches",
    ),
    "daemon: DELETE only when nothing waits either way": (
        f"{_HTTP}routes.py::test_a_mailbox_is_deleted_only_when_nothing_waits_either_way",
    ),
    "daemon: the sweep": (
        f"{_FEATURE}changes.py::test_long_idle_ones_retire_unless_mail_waits_or_somebody_watches",
        "server/test_mailbox_door.py::test_while_it_is_open_long_idle_mailboxes_retire",
    ),
}
_COMMAND = {
    "command: its subcommands, all with --url": (
        f"{_CLI}commands.py::test_a_message_is_sent_counted_listed_and_taken",
        f"{_CLI}commands.py::test_the_url_is_said_by_flag_then_variable_then_port",
        f"{_CLI}entry.py::test_help_is_the_references_and_needs_no_server",
        f"{_CLI}server_process.py::test_it_is_started_in_the_background_and_stopped",
    ),
    "command: exit codes and lines of watch": (
        f"{_CLI}commands.py::test_a_watch_ends_with_the_first_message",
        f"{_CLI}commands.py::test_a_watch_in_vain_is_3",
        f"{_CLI}commands.py::test_a_watch_waits_for_what_comes_and_for_another_name",
        f"{_CLI}commands.py::test_without_a_server_it_is_2_with_one_line",
        f"{_CLI}commands.py::test_a_mistake_is_1_with_one_line",
    ),
    "command: check --hook": (f"{_CLI}commands.py::test_a_hook_prints_mail_as_others_words_and_is_silent_without",),
    "command: the hooks of a session": (
        f"{_CLI}session_hooks.py::test_a_session_is_announced_gets_its_mail_and_ends",
        f"{_CLI}session_hooks.py::test_with_nobody_about_it_says_how_many_there_are",
    ),
    "command: install-hook merges, is idempotent, and takes out its own alone": (
        f"{_CLI}install_hooks.py::test_twice_is_one_entry_per_event_and_back_are_the_very_bytes",
        f"{_CLI}install_hooks.py::test_a_project_has_hooks_of_its_own",
        f"{_CLI}install_hooks.py::test_with_a_name_the_entries_say_it_and_another_takes_its_place",
    ),
    "command: names of sessions": (
        f"{_CLI}session_hooks.py::test_a_name_is_of_the_repository_or_the_folder_and_the_session",
    ),
    "command: the loop of watch --block": (
        f"{_CLI}commands.py::test_a_watch_waits_for_what_comes_and_for_another_name",
    ),
    "command: autostart, and a foreign port": (
        f"{_CLI}autostart_service.py::test_by_the_door_it_is_installed_with_the_door_open",
        f"{_SERVICE}unit_files.py::test_systemd_takes_the_unit",
        f"{_SERVICE}unit_files.py::test_launchd_gets_a_property_list",
        f"{_SERVICE}unit_files.py::test_windows_gets_a_task",
        f"{_SERVICE}port_check.py::test_another_programs_port_is_refused_and_named",
    ),
    "command: status": (
        f"{_CLI}server_process.py::test_it_is_started_in_the_background_and_stopped",
        f"{_CLI}server_process.py::test_where_autostart_is_installed_a_server_that_is_down_is_stopped",
    ),
}
_PROMISED = {
    "FC1": (f"{_HTTP}endpoint.py::test_both_ports_are_the_doors_and_say_what_they_are_to_anybody",),
    "FC2": (
        f"{_HTTP}callers.py::test_a_check_by_another_name_takes_nothing",
        f"{_HTTP}tools.py::test_arguments_beat_the_header_and_need_none",
    ),
    "FC3": (f"{_HTTP}tools.py::test_exactly_five_tools_are_listed_with_their_arguments",),
    "FC4": (
        f"{_HTTP}routes.py::test_a_look_changes_nothing_and_a_check_takes_all_of_it_once",
        f"{_HTTP}routes.py::test_checks_at_once_double_nothing_and_lose_nothing",
        f"{_FEATURE}service.py::test_checks_at_once_share_what_waits_and_double_nothing",
    ),
    "FC5": (
        f"{_FEATURE}service.py::test_who_has_watched_longest_gets_each_of_what_comes",
        f"{_FEATURE}service.py::test_what_a_watch_did_not_get_through_is_the_next_ones",
        f"{_HTTP}routes.py::test_a_watcher_that_is_gone_takes_nothing_with_it",
        f"{_HTTP}routes.py::test_a_watch_waits_25_s_and_300_at_most",
    ),
    "FC6": (f"{_FEATURE}changes.py::test_another_name_takes_mail_and_history_along_and_mail_to_the_former_one_too",),
    "FC7": (f"{_CLI}entry.py::test_help_is_the_references_and_needs_no_server",),
    "FC8": (f"{_CLI}session_hooks.py::test_a_session_is_told_its_name_then_the_arguments_then_who_was_seen_lately",),
    "FC9": (f"{_FEATURE}changes.py::test_one_that_retired_is_back_with_the_next_call",),
    "FC11": (f"{_SERVICE}install.py::test_it_is_installed_looked_at_and_taken_away",),
}
_EXAMPLES = {
    "CM-01": (f"{_HTTP}routes.py::test_a_message_sent_is_told_with_id_parties_and_time",),
    "CM-02": (f"{_HTTP}routes.py::test_a_look_changes_nothing_and_a_check_takes_all_of_it_once",),
    "CM-03": (f"{_HTTP}routes.py::test_a_look_changes_nothing_and_a_check_takes_all_of_it_once",),
    "CM-04": (f"{_HTTP}routes.py::test_a_look_changes_nothing_and_a_check_takes_all_of_it_once",),
    "CM-05": (f"{_HTTP}callers.py::test_a_check_by_another_name_takes_nothing",),
    "CM-06": (f"{_HTTP}routes.py::test_a_send_that_lacks_something_says_what_and_stores_nothing",),
    "CM-08": (f"{_HTTP}tools.py::test_by_the_header_alone_mail_goes_there_and_is_taken_there",),
    "CM-13": (f"{_HTTP}routes.py::test_a_watch_is_over_as_soon_as_mail_comes_and_has_it_alone",),
    "CM-15": (
        f"{_HTTP}routes.py::test_a_watch_in_vain_ends_by_its_time",
        f"{_CLI}commands.py::test_a_watch_in_vain_is_3",
    ),
    "CM-20": (f"{_CLI}commands.py::test_a_hook_prints_mail_as_others_words_and_is_silent_without",),
    "CM-21": (f"{_CLI}install_hooks.py::test_twice_is_one_entry_per_event_and_back_are_the_very_bytes",),
}
_DECIDED = {
    "D1": (f"{_HTTP}endpoint.py::test_both_ports_are_the_doors_and_say_what_they_are_to_anybody",),
    "D2": (
        f"{_HTTP}routes.py::test_a_look_needs_a_name_from_somewhere_and_makes_none",
        f"{_HTTP}tools.py::test_by_the_header_alone_mail_goes_there_and_is_taken_there",
    ),
    "D3": (
        f"{_HTTP}callers.py::test_a_check_by_another_name_takes_nothing",
        f"{_HTTP}callers.py::test_a_from_beside_the_header_may_say_the_same",
        f"{_HTTP}routes.py::test_a_send_that_lacks_something_says_what_and_stores_nothing",
    ),
    "D4": (f"{_HTTP}routes.py::test_a_send_that_lacks_something_says_what_and_stores_nothing",),
    "D5": (
        f"{_HTTP}endpoint.py::test_what_is_no_post_takes_nothing",
        f"{_HTTP}tools.py::test_by_the_header_alone_mail_goes_there_and_is_taken_there",
    ),
    "D6": (f"{_HTTP}routes.py::test_the_list_says_what_waits_and_whose_mail_waits_for_you",),
    "D7": (
        f"{_FEATURE}changes.py::test_long_idle_ones_retire_unless_mail_waits_or_somebody_watches",
        f"{_FEATURE}changes.py::test_one_that_retired_is_back_with_the_next_call",
    ),
    "D8": (
        f"{_CLI}server_process.py::test_serve_is_the_server_with_the_door_at_that_port",
        f"{_CLI}server_process.py::test_serve_takes_its_store_by_file",
        f"{_CLI}server_process.py::test_the_former_programs_database_is_left_as_it_is",
        f"{_CLI}server_process.py::test_beyond_this_machine_it_needs_the_token",
    ),
    "D9": (
        f"{_CLI}commands.py::test_a_message_is_sent_counted_listed_and_taken",
        f"{_CLI}commands.py::test_the_url_is_said_by_flag_then_variable_then_port",
        f"{_CLI}commands.py::test_without_a_server_it_is_2_with_one_line",
    ),
    "D10": (f"{_HTTP}tools.py::test_exactly_five_tools_are_listed_with_their_arguments",),
    "D11": (
        f"{_HTTP}door_rules.py::test_a_servers_token_is_needed_beside_the_header_but_for_health",
        f"{_HTTP}door_rules.py::test_under_strict_a_native_agent_is_not_spoken_as_and_a_mailbox_is",
    ),
    "D12": (f"{_HTTP}routes.py::test_checks_at_once_double_nothing_and_lose_nothing",),
    "D13": (
        f"{_HTTP}callers.py::test_names_are_latin_1_trimmed_and_no_encoded_words",
        f"{_HTTP}callers.py::test_a_name_with_other_characters_is_written_to_as_an_argument",
    ),
}

CONTRACT: Mapping[str, tuple[str, ...]] = {**_DAEMON, **_COMMAND, **_PROMISED, **_EXAMPLES, **_DECIDED}
"""FC10, the import of the former file, is shown where importers are."""

PAGE: Mapping[str, tuple[str, ...]] = {
    "ports": CONTRACT["FC1"],
    "health": CONTRACT["D1"],
    "header": CONTRACT["FC2"],
    "seen": CONTRACT["daemon: X-Mailbox makes and refreshes, arguments beat it"],
    "five-tools": CONTRACT["D10"],
    "send": CONTRACT["CM-01"],
    "send-refused": CONTRACT["D4"],
    "check": CONTRACT["FC4"],
    "check-foreign": CONTRACT["CM-05"],
    "peek": CONTRACT["D2"],
    "list": CONTRACT["D6"],
    "list-idle": CONTRACT["daemon: GET /v1/list hides the idle but the caller and who has mail for it"],
    "rename": CONTRACT["daemon: POST /v1/rename and its reasons"],
    "watch": CONTRACT["FC5"],
    "delete": CONTRACT["daemon: DELETE only when nothing waits either way"],
    "cli": CONTRACT["command: its subcommands, all with --url"],
    "watch-exit": CONTRACT["command: exit codes and lines of watch"],
    "check-hook": CONTRACT["CM-20"],
    "hooks": CONTRACT["CM-21"],
    "announce": CONTRACT["FC8"],
    "autostart": CONTRACT["command: autostart, and a foreign port"],
    "mcp-stdio": CONTRACT["daemon: mcp-stdio is a proxy by CLAUDE_MAILBOX_URL"],
    "from-body": CONTRACT["D3"],
    "retired": CONTRACT["D7"],
    "given-back": (
        f"{_FEATURE}service.py::test_a_check_is_read_once_its_answer_was_written_and_given_back_else",
        f"{_FEATURE}service.py::test_what_a_watch_did_not_get_through_is_the_next_ones",
    ),
    "bind": (f"{_CLI}server_process.py::test_beyond_this_machine_it_needs_the_token",),
    "old-file": (f"{_CLI}server_process.py::test_the_former_programs_database_is_left_as_it_is",),
}
"""The rows of the page about neighbours."""
