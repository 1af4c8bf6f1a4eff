"""Seed 001 (Native Hooks Integration): which tests prove which of its ids; see requirements.py."""

from __future__ import annotations

from tests.contract.requirements.requirement import Requirement

__all__ = ["HOOKS"]

HOOKS: dict[str, Requirement] = {
    "REQ-HOOKS-01": Requirement(
        "SessionStart hook",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing",
            "tests/unit/claude/test_hook_output.py::test_every_event_kind_has_the_clients_own_name",
            "tests/unit/claude/test_hook_input.py::test_each_flat_event_gives_what_it_is_about",
        ),
    ),
    "REQ-HOOKS-02": Requirement(
        "PreToolUse hook, within 100 ms; recorded by the owner (decided so), the hook opens no database",
        (
            "benches/hooks/bench_commands.py::test_a_command_from_start_to_exit",
            "tests/integration/claude/test_hooks.py::test_a_pre_tool_hook_opens_no_database",
            "tests/integration/claude/test_hooks.py::test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing",
            "tests/unit/claude/test_hook_input.py::test_each_flat_event_gives_what_it_is_about",
        ),
    ),
    "REQ-HOOKS-03": Requirement(
        "PostToolUse hook",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing",
            "tests/unit/claude/test_hook_input.py::test_a_flat_failure_is_a_failure_under_either_verb",
            "tests/unit/claude/test_hook_input.py::test_a_flat_tool_event_keeps_its_parts_and_means_success",
        ),
    ),
    "REQ-HOOKS-04": Requirement(
        "UserPromptSubmit hook",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing",
            "tests/unit/claude/test_hook_output.py::test_text_goes_where_the_model_sees_it",
            "tests/unit/claude/test_hook_input.py::test_each_flat_event_gives_what_it_is_about",
        ),
    ),
    "REQ-HOOKS-05": Requirement(
        "SessionEnd hook",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_claude_format_a_hook_prints_one_document_of_the_clients_schema_or_nothing",
            "tests/unit/identity/test_live.py::test_a_result_that_says_it_failed_counts_as_a_failure",
            "tests/unit/claude/test_hook_input.py::test_each_flat_event_gives_what_it_is_about",
        ),
    ),
    "REQ-HOOKS-10": Requirement(
        "HookInput, both shapes",
        (
            "tests/integration/claude/test_hooks.py::test_seed_001s_own_input_shape_means_the_same_as_the_clients",
            "tests/unit/claude/test_hook_input.py::test_a_flat_tool_event_keeps_its_parts_and_means_success",
            "tests/unit/claude/test_hook_input.py::test_seed_001s_nested_shape_is_read_with_either_tag",
        ),
    ),
    "REQ-HOOKS-11": Requirement(
        "PreToolUse payload",
        (
            "tests/integration/claude/test_hooks.py::test_seed_001s_own_input_shape_means_the_same_as_the_clients",
            "tests/unit/claude/test_hook_input.py::test_seed_001s_nested_shape_is_read_with_either_tag",
        ),
    ),
    "REQ-HOOKS-12": Requirement(
        "PostToolUse payload",
        (
            "tests/integration/claude/test_hooks.py::test_seed_001s_own_input_shape_means_the_same_as_the_clients",
            "tests/unit/claude/test_hook_input.py::test_a_nested_error_makes_the_tool_call_a_failure",
            "tests/unit/claude/test_hook_input.py::test_seed_001s_nested_shape_is_read_with_either_tag",
        ),
    ),
    "REQ-HOOKS-13": Requirement(
        "HookOutput, absent keys absent",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/unit/claude/test_hook_input.py::test_an_empty_output_has_just_the_required_keys",
            "tests/unit/claude/test_hook_input.py::test_json_output_fits_seed_001s_schema_and_has_no_nulls",
        ),
    ),
    "REQ-HOOKS-14": Requirement(
        "consciousness_state",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/unit/claude/test_hook_input.py::test_json_output_fits_seed_001s_schema_and_has_no_nulls",
        ),
    ),
    "REQ-HOOKS-15": Requirement(
        "ic_classification",
        (
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/unit/identity/test_continuity.py::test_classes_change_exactly_at_their_thresholds",
            "tests/unit/claude/test_hook_input.py::test_json_output_fits_seed_001s_schema_and_has_no_nulls",
        ),
    ),
    "REQ-HOOKS-16": Requirement(
        "Johari quadrant of the system",
        (
            "tests/unit/identity/test_johari.py::test_quadrants_are_written_in_lower_case",
            "tests/unit/identity/test_johari.py::test_the_system_is_judged_by_c_and_i_at_seven_tenths",
            "tests/unit/claude/test_hook_input.py::test_json_output_fits_seed_001s_schema_and_has_no_nulls",
        ),
    ),
    "REQ-HOOKS-17": Requirement(
        "hooks session-start",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/claude/test_hooks.py::test_a_next_session_is_restored_from_the_last_one",
            "tests/integration/claude/test_hooks.py::test_arguments_alone_make_an_event",
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/unit/claude/test_hook_input.py::test_a_session_start_without_an_id_gets_a_fresh_one",
        ),
    ),
    "REQ-HOOKS-18": Requirement(
        "hooks pre-tool",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/claude/test_hooks.py::test_arguments_alone_make_an_event",
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
        ),
    ),
    "REQ-HOOKS-19": Requirement(
        "hooks post-tool",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/claude/test_hooks.py::test_arguments_alone_make_an_event",
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/unit/claude/test_hook_input.py::test_arguments_alone_are_enough_and_stdin_goes_before_them",
        ),
    ),
    "REQ-HOOKS-20": Requirement(
        "hooks prompt-submit",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/claude/test_hooks.py::test_arguments_alone_make_an_event",
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
            "tests/integration/claude/test_hooks.py::test_a_prompt_is_told_what_changed_in_the_state",
        ),
    ),
    "REQ-HOOKS-21": Requirement(
        "hooks session-end",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/claude/test_hooks.py::test_arguments_alone_make_an_event",
            "tests/integration/claude/test_hooks.py::test_in_the_json_format_a_hook_prints_seed_001s_output",
        ),
    ),
    "REQ-HOOKS-22": Requirement(
        "hooks generate-config",
        (
            "tests/contract/test_commands_docs.py::test_the_commands_are_those_of_the_issue",
            "tests/contract/test_repo_claude_files.py::test_settings_and_scripts_are_what_the_generator_writes",
            "tests/e2e/test_real_client.py::test_identity_survives_from_one_real_session_to_the_next",
            "tests/integration/cli/test_commands.py::test_generate_config_writes_shows_and_refuses",
            "tests/unit/claude/test_scripts.py::test_there_are_seed_001s_five_scripts_in_every_shell",
            "tests/unit/claude/test_settings.py::test_a_new_file_registers_the_events_in_the_clients_own_schema",
            "tests/unit/claude/test_settings.py::test_other_hooks_keys_order_and_spacing_stay_byte_for_byte",
        ),
    ),
    "REQ-HOOKS-23": Requirement(
        "load_or_create",
        (
            "tests/integration/identity/test_manager.py::test_a_new_session_continues_the_previous_one",
            "tests/integration/identity/test_manager.py::test_a_session_is_created_with_the_seed_s_defaults_and_durable_at_once",
            "tests/integration/identity/test_manager.py::test_the_documented_library_runs_as_a_users_program",
        ),
    ),
    "REQ-HOOKS-24": Requirement(
        "save",
        (
            "tests/integration/store/test_session_store.py::test_a_snapshot_comes_back_by_id_and_as_the_latest",
            "tests/unit/identity/test_live.py::test_a_continued_session_carries_the_purpose_and_is_its_own",
        ),
    ),
    "REQ-HOOKS-25": Requirement(
        "update_ic_and_trajectory",
        (
            "tests/integration/identity/test_manager.py::test_ic_is_the_cosine_with_the_stored_vector_times_r",
            "tests/integration/identity/test_manager.py::test_the_documented_library_runs_as_a_users_program",
        ),
    ),
    "REQ-HOOKS-26": Requirement(
        "get_cached",
        (
            "tests/integration/identity/test_manager.py::test_the_cache_answers_without_the_store_and_hands_out_copies",
            "tests/integration/identity/test_manager.py::test_the_documented_library_runs_as_a_users_program",
        ),
    ),
    "REQ-HOOKS-27": Requirement(
        "link_sessions",
        (
            "tests/integration/identity/test_manager.py::test_linking_computes_and_stores_the_cross_session_ic",
            "tests/integration/identity/test_manager.py::test_the_documented_library_runs_as_a_users_program",
        ),
    ),
    "REQ-HOOKS-28": Requirement(
        "persist_final",
        ("tests/integration/identity/test_manager.py::test_the_final_snapshot_keeps_everything",),
    ),
    "REQ-HOOKS-29": Requirement(
        "Input is schema-checked, with size caps",
        (
            "tests/integration/claude/test_hooks.py::test_wrong_input_is_refused_by_name_and_never_blocks",
            "tests/unit/claude/test_hook_input.py::test_a_long_session_id_is_cut_on_a_character_boundary",
            "tests/unit/claude/test_hook_input.py::test_no_bytes_raise_anything_but_our_own_error",
            "tests/unit/claude/test_hook_input.py::test_no_json_object_raises_anything_but_our_own_error",
            "tests/unit/claude/test_hook_input.py::test_wrong_input_is_refused_by_the_name_of_its_field",
        ),
    ),
    "REQ-HOOKS-30": Requirement(
        "A store path never leaves its allowed roots unasked",
        (
            "tests/contract/test_golden_paths.py::test_a_db_path_is_taken_or_refused_as_the_table_says",
            "tests/integration/claude/test_hooks.py::test_a_store_path_that_leaves_its_roots_is_refused",
        ),
    ),
    "REQ-HOOKS-31": Requirement(
        "No input ever reaches a shell",
        (
            "tests/integration/claude/test_hooks.py::test_shell_text_in_any_field_stays_text",
            "tests/unit/claude/test_scripts.py::test_a_script_hands_stdin_over_unchanged_and_exits_0_whatever_the_cli_does",
            "tests/unit/claude/test_scripts.py::test_a_script_names_its_requirements_and_never_looks_at_the_input",
        ),
    ),
    "REQ-HOOKS-32": Requirement(
        "Deadlines hold inside our own processes",
        (
            "tests/integration/claude/test_hooks.py::test_an_owner_that_does_not_answer_costs_the_budget_and_loses_nothing",
        ),
    ),
    "REQ-HOOKS-33": Requirement(
        "Secrets are masked before anything is written",
        (
            "tests/integration/redact/test_secrets_on_disk.py::test_no_argument_of_any_command_keeps_a_secret",
            "tests/integration/redact/test_secrets_on_disk.py::test_no_argument_of_any_tool_keeps_a_secret",
            "tests/integration/redact/test_secrets_on_disk.py::test_no_field_of_any_hook_event_keeps_a_secret",
            "tests/integration/redact/test_secrets_on_disk.py::test_no_planted_secret_is_found_in_any_file",
            "tests/unit/redact/test_issued.py::test_a_token_goes_whole_under_its_issuers_name",
            "tests/unit/redact/test_named.py::test_a_named_value_goes_to_its_end_and_nothing_else",
            "tests/unit/redact/test_public.py::test_public_hashes_and_keys_stay_wherever_a_slash_stands_in_them",
            "tests/unit/redact/test_redactor.py::test_a_sentence_keeps_its_words_and_loses_its_secrets",
            "tests/unit/redact/test_redactor.py::test_every_golden_secret_is_replaced_under_its_rules_name",
            "tests/unit/redact/test_redactor.py::test_the_golden_file_has_a_row_for_every_kind_of_secret_we_promise",
            "tests/unit/text/test_flattening.py::test_redaction_finds_a_secret_that_only_its_key_gives_away",
        ),
    ),
}
