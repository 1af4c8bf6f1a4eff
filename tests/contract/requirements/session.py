"""Seed 000 (Session Identity Persistence): which tests prove which of its ids; see requirements.py."""

from __future__ import annotations

from tests.contract.requirements.requirement import Requirement

__all__ = ["SESSION"]

SESSION: dict[str, Requirement] = {
    "REQ-SESSION-01": Requirement(
        "The 14 fields with their defaults, ids cut at 100 characters, 50 vectors, below 30 KB",
        (
            "tests/integration/cli/test_commands.py::test_show_has_the_fourteen_fields_and_the_chain",
            "tests/integration/identity/test_manager.py::test_a_session_is_created_with_the_seed_s_defaults_and_durable_at_once",
            "tests/integration/store/test_session_store.py::test_ids_are_cut_to_100_characters_in_every_place",
            "tests/integration/store/test_transfer.py::test_an_export_has_the_seed_s_field_names_a_version_and_a_checksum",
            "tests/unit/identity/test_kuramoto.py::test_a_new_snapshot_can_be_taken_up",
            "tests/unit/store/test_layout.py::test_a_long_id_is_cut_on_a_character_boundary",
            "tests/unit/store/test_session_records.py::test_a_full_snapshot_stays_below_30_kilobytes",
            "tests/unit/store/test_session_records.py::test_the_seed_s_field_names_are_the_snapshot_s",
            "tests/unit/claude/test_hook_input.py::test_a_long_session_id_is_cut_on_a_character_boundary",
        ),
    ),
    "REQ-SESSION-02": Requirement(
        "A cache serves the brief without the database, each session its own line, cold when unknown",
        (
            "tests/integration/claude/test_hooks.py::test_the_brief_is_cold_then_the_sessions_own_line",
            "tests/unit/identity/test_live.py::test_the_trajectory_keeps_fifty_vectors",
        ),
    ),
    "REQ-SESSION-03": Requirement(
        "Each consciousness state has a three-letter code",
        (
            "tests/unit/identity/test_consciousness.py::test_each_state_has_its_three_letter_code_and_its_printed_name",
        ),
    ),
    "REQ-SESSION-04": Requirement(
        "Column family session_identity: keys s:, latest, t:, p:, bloom filter, LZ4, WAL",
        (
            "tests/integration/store/test_engine.py::test_a_missing_family_is_named_with_its_cure_and_not_made_anew",
            "tests/integration/store/test_engine.py::test_a_new_database_has_every_family_and_belongs_to_the_user_alone",
            "tests/integration/store/test_engine.py::test_families_have_bloom_filters_lz4_and_a_log",
            "tests/integration/store/test_session_store.py::test_one_save_writes_record_pointer_time_index_and_chain_index",
            "tests/unit/store/test_layout.py::test_keys_are_byte_for_byte_as_documented",
            "tests/unit/store/test_layout.py::test_the_column_families_are_those_of_the_formats_page",
            "tests/unit/identity/test_live.py::test_a_restart_at_any_event_changes_nothing",
        ),
    ),
    "REQ-SESSION-05": Requirement(
        "Saves are one atomic batch; loads by id and as latest, with recovery of the pointer",
        (
            "tests/integration/store/test_atomic.py::test_a_change_is_whole_or_not_there",
            "tests/integration/store/test_session_store.py::test_a_pointer_to_nothing_is_worked_out_anew_and_repaired",
            "tests/integration/store/test_session_store.py::test_a_snapshot_comes_back_by_id_and_as_the_latest",
            "tests/integration/store/test_session_store.py::test_a_write_that_fails_has_changed_nothing_at_all",
            "tests/integration/store/test_session_store.py::test_what_can_t_be_stored_leaves_the_old_state",
            "tests/kernels/test_vectors.py::test_a_stored_vector_keeps_its_continuity",
            "tests/unit/identity/test_live.py::test_every_number_of_the_snapshot_comes_from_the_event",
            "tests/unit/store/test_session_records.py::test_a_snapshot_s_bytes_are_the_golden_ones",
            "tests/unit/store/test_session_records.py::test_every_flipped_bit_of_a_record_is_an_error_and_never_another_snapshot",
        ),
    ),
    "REQ-SESSION-06": Requirement(
        "Capture, restore; cross-session IC: cos(PV, previous PV) * r of given vectors, else measured",
        (
            "tests/integration/identity/test_manager.py::test_a_captured_snapshot_is_the_present_state_and_not_saved",
            "tests/integration/identity/test_manager.py::test_restoring_begins_a_new_session_linked_to_the_latest",
            "tests/kernels/test_vectors.py::test_a_zero_vector_has_cosine_zero_with_everything",
            "tests/kernels/test_vectors.py::test_opposed_vectors_are_clamped_to_zero",
            "tests/unit/identity/test_continuity.py::test_identical_purpose_vectors_give_an_ic_of_r",
            "tests/unit/identity/test_continuity.py::test_the_current_sessions_phases_decide_r",
            "tests/unit/identity/test_live.py::test_a_continued_session_carries_the_purpose_and_is_its_own",
        ),
    ),
    "REQ-SESSION-07": Requirement(
        "IC classes at 0.9, 0.7 and 0.5; exactly 0.5 is no crisis",
        (
            "tests/unit/identity/test_continuity.py::test_classes_change_exactly_at_their_thresholds",
            "tests/unit/identity/test_continuity.py::test_exactly_one_half_is_no_crisis",
            "tests/unit/identity/test_live.py::test_foreign_work_is_a_warning_within_three_events_a_crisis_within_six_and_the_return_ends_it",
        ),
    ),
    "REQ-SESSION-08": Requirement(
        "A crisis queues a consolidation request durably, with a cool-down",
        (
            "tests/integration/cli/test_commands.py::test_check_identity_queues_one_dream_for_a_crisis",
            "tests/integration/claude/test_hooks.py::test_a_crisis_is_reached_said_once_and_recovered_from",
            "tests/integration/owner/test_service.py::test_an_event_is_whole_after_its_answer_even_if_nothing_more_was_written",
            "tests/unit/identity/test_brief.py::test_a_crisis_says_whether_a_dream_was_queued",
            "tests/unit/identity/test_continuity.py::test_dream_requests_keep_a_minute_apart",
        ),
    ),
    "REQ-SESSION-09": Requirement(
        "The brief's text, `[C:STATE r=X.XX IC=X.XX]`, in microseconds",
        (
            "benches/micro/bench_brief.py::test_brief_line_from_a_snapshot",
            "tests/integration/claude/test_hooks.py::test_the_brief_is_cold_then_the_sessions_own_line",
            "tests/kernels/test_oscillators.py::test_thirteen_equal_phases_have_order_one",
            "tests/unit/identity/test_brief.py::test_the_brief_is_one_line_of_state_r_and_ic",
            "tests/unit/identity/test_live.py::test_a_fresh_session_says_that_it_knows_nothing",
        ),
    ),
    "REQ-SESSION-10": Requirement(
        "The cache follows each restoration and each computed IC",
        (
            "tests/integration/claude/test_hooks.py::test_the_brief_follows_each_restore_and_each_measured_event",
        ),
    ),
    "REQ-SESSION-11": Requirement(
        "`consciousness brief`: no stdin, no database, always exit 0",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_the_python_program_prints_the_launchers_brief",
            "tests/integration/claude/test_hooks.py::test_the_brief_is_cold_then_the_sessions_own_line",
            "tests/integration/claude/test_hooks.py::test_the_brief_reads_no_stdin_and_opens_no_database",
            "tests/unit/owner/test_brief_slots.py::test_the_cache_shows_each_session_its_own_line",
        ),
    ),
    "REQ-SESSION-12": Requirement(
        "`session restore-identity`: startup, resume, clear; text and exit codes",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_a_first_session_is_new_and_the_next_one_is_restored_from_it",
            "tests/integration/cli/test_commands.py::test_clear_begins_afresh_and_resume_takes_up_the_named_one",
            "tests/integration/store/test_engine.py::test_a_missing_family_is_named_with_its_cure_and_not_made_anew",
            "tests/integration/store/test_session_store.py::test_a_damaged_record_behind_the_pointer_is_an_error_and_not_an_older_session",
            "tests/unit/identity/test_live.py::test_a_continued_session_carries_the_purpose_and_is_its_own",
        ),
    ),
    "REQ-SESSION-13": Requirement(
        "`session persist-identity`: silent, resets nothing",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_persist_is_silent_and_resets_nothing",
            "tests/integration/identity/test_manager.py::test_the_final_snapshot_keeps_everything",
        ),
    ),
    "REQ-SESSION-14": Requirement(
        "`consciousness check-identity [--auto-dream]`: words on stderr, always exit 0",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_check_identity_queues_one_dream_for_a_crisis",
            "tests/integration/cli/test_commands.py::test_check_identity_warns_on_stderr_only_and_always_exits_0",
            "tests/unit/identity/test_live.py::test_foreign_work_is_a_warning_within_three_events_a_crisis_within_six_and_the_return_ends_it",
        ),
    ),
    "REQ-SESSION-15": Requirement(
        "`consciousness inject-context`: four lines",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_inject_context_prints_seed_000s_four_lines",
            "tests/integration/claude/test_hooks.py::test_a_prompt_is_told_what_changed_in_the_state",
            "tests/unit/identity/test_brief.py::test_the_block_has_the_four_lines_of_the_seed",
        ),
    ),
    "REQ-SESSION-16": Requirement(
        "Hook configuration in .claude/settings.json, real schema, seconds",
        (
            "tests/contract/test_repo_claude_files.py::test_settings_and_scripts_are_what_the_generator_writes",
            "tests/contract/test_repo_claude_files.py::test_the_settings_fit_the_clients_schema_in_seconds",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/unit/claude/test_scripts.py::test_the_settings_command_exits_0_whatever_stands_on_path",
            "tests/unit/claude/test_settings.py::test_a_new_file_registers_the_events_in_the_clients_own_schema",
            "tests/unit/claude/test_settings.py::test_seed_000s_entry_is_brought_up_to_date_in_place",
        ),
    ),
    "REQ-SESSION-17": Requirement(
        "Exit codes of AP-26: 2 only for corruption",
        (
            "tests/integration/cli/test_commands.py::test_a_corrupt_identity_is_the_one_thing_that_exits_2_and_names_the_repair",
            "tests/integration/cli/test_commands.py::test_a_usage_error_exits_2_but_not_where_that_blocks_a_client",
            "tests/integration/cli/test_commands.py::test_input_that_is_no_json_means_defaults",
            "tests/integration/cli/test_commands.py::test_repair_waits_for_the_owner_to_go_and_then_salvages",
            "tests/integration/cli/test_commands.py::test_without_an_owner_a_session_goes_on",
            "tests/integration/identity/test_manager.py::test_a_damaged_session_to_restore_is_an_error_and_nothing_begins",
            "tests/integration/store/test_session_store.py::test_a_damaged_record_behind_the_pointer_is_an_error_and_not_an_older_session",
            "tests/unit/identity/test_live.py::test_damaged_state_is_an_error_and_never_a_fresh_start",
        ),
    ),
    "TC-SESSION-01": Requirement(
        "Snapshot round trip",
        ("tests/unit/store/test_session_records.py::test_a_snapshot_comes_back_as_it_went_in",),
    ),
    "TC-SESSION-02": Requirement(
        "Trajectory FIFO eviction",
        (
            "tests/integration/identity/test_manager.py::test_the_trajectory_keeps_the_last_fifty_vectors_across_a_restart",
            "tests/unit/store/test_session_records.py::test_the_trajectory_drops_its_oldest_vector",
        ),
    ),
    "TC-SESSION-03": Requirement(
        "Brief format",
        ("tests/unit/identity/test_brief.py::test_the_brief_is_one_line_of_state_r_and_ic",),
    ),
    "TC-SESSION-04": Requirement(
        "short_name",
        (
            "tests/unit/identity/test_consciousness.py::test_each_state_has_its_three_letter_code_and_its_printed_name",
        ),
    ),
    "TC-SESSION-05": Requirement(
        "RocksDB save and load",
        (
            "tests/integration/store/test_session_store.py::test_a_snapshot_comes_back_by_id_and_as_the_latest",
        ),
    ),
    "TC-SESSION-06": Requirement(
        "Order of the time index",
        (
            "tests/integration/store/test_session_store.py::test_saving_again_moves_the_one_time_index_entry",
            "tests/unit/store/test_layout.py::test_time_keys_sort_by_time_and_give_back_what_went_in",
        ),
    ),
    "TC-SESSION-07": Requirement(
        "Cross-session IC of identical vectors",
        (
            "tests/integration/identity/test_manager.py::test_linking_computes_and_stores_the_cross_session_ic",
            "tests/kernels/test_vectors.py::test_identical_vectors_give_an_ic_of_exactly_r",
            "tests/unit/identity/test_continuity.py::test_identical_purpose_vectors_give_an_ic_of_r",
        ),
    ),
    "TC-SESSION-08": Requirement(
        "Cross-session IC of orthogonal vectors",
        (
            "tests/integration/identity/test_manager.py::test_linking_computes_and_stores_the_cross_session_ic",
            "tests/kernels/test_vectors.py::test_orthogonal_vectors_give_an_ic_of_zero",
            "tests/unit/identity/test_continuity.py::test_orthogonal_opposed_and_zero_vectors_give_an_ic_of_zero",
        ),
    ),
    "TC-SESSION-09": Requirement(
        "Boundaries of classify_ic",
        (
            "tests/kernels/test_vectors.py::test_ic_classes_change_at_their_thresholds",
            "tests/unit/identity/test_continuity.py::test_classes_change_exactly_at_their_thresholds",
        ),
    ),
    "TC-SESSION-10": Requirement(
        "Auto-dream",
        (
            "tests/integration/cli/test_commands.py::test_check_identity_queues_one_dream_for_a_crisis",
            "tests/integration/claude/test_hooks.py::test_a_crisis_is_reached_said_once_and_recovered_from",
            "tests/unit/identity/test_continuity.py::test_dream_requests_keep_a_minute_apart",
            "tests/unit/identity/test_live.py::test_foreign_work_is_a_warning_within_three_events_a_crisis_within_six_and_the_return_ends_it",
        ),
    ),
    "TC-SESSION-11": Requirement(
        "Brief text within 100 us at p95",
        ("benches/micro/bench_brief.py::test_brief_line_from_a_snapshot",),
    ),
    "TC-SESSION-12": Requirement(
        "Brief, warm",
        (
            "tests/integration/cli/test_commands.py::test_the_python_program_prints_the_launchers_brief",
            "tests/integration/claude/test_hooks.py::test_the_brief_is_cold_then_the_sessions_own_line",
        ),
    ),
    "TC-SESSION-13": Requirement(
        "Brief, cold",
        (
            "tests/integration/cli/test_commands.py::test_the_python_program_prints_the_launchers_brief",
            "tests/integration/claude/test_hooks.py::test_the_brief_is_cold_then_the_sessions_own_line",
            "tests/unit/identity/test_brief.py::test_with_nothing_measured_it_says_so",
        ),
    ),
    "TC-SESSION-14": Requirement(
        "Restore, startup",
        (
            "tests/integration/cli/test_commands.py::test_a_first_session_is_new_and_the_next_one_is_restored_from_it",
            "tests/integration/claude/test_hooks.py::test_a_next_session_is_restored_from_the_last_one",
            "tests/integration/identity/test_manager.py::test_restoring_begins_a_new_session_linked_to_the_latest",
        ),
    ),
    "TC-SESSION-15": Requirement(
        "Restore, clear",
        (
            "tests/integration/cli/test_commands.py::test_clear_begins_afresh_and_resume_takes_up_the_named_one",
        ),
    ),
    "TC-SESSION-16": Requirement(
        "Restore with nothing before",
        (
            "tests/integration/cli/test_commands.py::test_a_first_session_is_new_and_the_next_one_is_restored_from_it",
            "tests/integration/identity/test_manager.py::test_nothing_to_restore_is_a_fresh_session",
        ),
    ),
    "TC-SESSION-17": Requirement(
        "Persist",
        ("tests/integration/cli/test_commands.py::test_persist_is_silent_and_resets_nothing",),
    ),
    "TC-SESSION-18": Requirement(
        "check-identity, healthy",
        (
            "tests/integration/cli/test_commands.py::test_check_identity_warns_on_stderr_only_and_always_exits_0",
        ),
    ),
    "TC-SESSION-19": Requirement(
        "check-identity, warning",
        (
            "tests/integration/cli/test_commands.py::test_check_identity_warns_on_stderr_only_and_always_exits_0",
        ),
    ),
    "TC-SESSION-20": Requirement(
        "check-identity, crisis",
        (
            "tests/integration/cli/test_commands.py::test_check_identity_queues_one_dream_for_a_crisis",
            "tests/integration/cli/test_commands.py::test_check_identity_warns_on_stderr_only_and_always_exits_0",
        ),
    ),
    "TC-SESSION-21": Requirement(
        "inject-context's format",
        (
            "tests/integration/cli/test_commands.py::test_inject_context_prints_seed_000s_four_lines",
            "tests/unit/identity/test_brief.py::test_the_block_has_the_four_lines_of_the_seed",
        ),
    ),
    "TC-SESSION-22": Requirement(
        "Exit code mapping",
        (
            "tests/integration/cli/test_commands.py::test_a_corrupt_identity_is_the_one_thing_that_exits_2_and_names_the_repair",
            "tests/integration/cli/test_commands.py::test_a_usage_error_exits_2_but_not_where_that_blocks_a_client",
        ),
    ),
    "TC-SESSION-24": Requirement(
        "Latency of the commands",
        ("benches/hooks/bench_commands.py::test_a_command_from_start_to_exit",),
    ),
}
