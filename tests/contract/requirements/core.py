"""Seed 003 (Core Infrastructure), its requirements: which tests prove which; see requirements.py."""

from __future__ import annotations

from tests.contract.requirements.requirement import Requirement

__all__ = ["CORE"]

CORE: dict[str, Requirement] = {
    "REQ-CORE-001": Requirement(
        "A memory node has the seed's fields, limits and defaults",
        (
            "tests/integration/memory/test_memex_life.py::test_uses_are_counted_and_kept",
            "tests/unit/model/test_memory.py::test_a_node_has_the_fields_of_the_seed",
            "tests/unit/model/test_memory.py::test_a_whole_node_from_elsewhere_is_checked",
            "tests/unit/model/test_memory.py::test_content_has_at_most_65536_characters_not_bytes",
            "tests/unit/store/test_memory_records.py::test_an_embedding_of_another_length_is_refused",
            "tests/unit/memory/test_spaces.py::test_the_layout_is_that_of_the_decisions",
        ),
    ),
    "REQ-CORE-002": Requirement(
        "Four Johari quadrants, computed from entropy and coherence at 0.5",
        (
            "tests/unit/model/test_memory.py::test_quadrants_follow_entropy_and_coherence",
            "tests/unit/memory/test_store_metrics.py::test_every_quadrant_can_be_reached",
            "tests/unit/memory/test_store_metrics.py::test_the_first_memory_has_the_defaults_and_an_unknown_quadrant",
        ),
    ),
    "REQ-CORE-003": Requirement(
        "A pulse has entropy, coherence and a suggested action, in JSON",
        (
            "tests/integration/memory/test_pulse.py::test_what_rests_on_a_changed_file_is_in_doubt_and_named_until_somebody_confirms_it",
            "tests/integration/memory/test_introspection.py::test_an_answer_with_one_side_of_a_contradiction_says_what_is_to_be_clarified",
            "tests/integration/memory/test_introspection.py::test_the_answer_that_brings_both_says_that_they_contradict_each_other",
            "tests/integration/memory/test_introspection.py::test_a_store_that_told_nothing_yet_has_nothing_unsettled",
            "tests/integration/memory/test_introspection.py::test_the_pulse_is_json_of_some_thirty_tokens",
            "tests/unit/model/test_memory.py::test_a_pulse_is_json_by_the_seed_s_names",
            "tests/unit/model/test_memory.py::test_a_pulse_outside_its_range_cannot_be_made",
        ),
    ),
    "REQ-CORE-004": Requirement(
        "Seven suggested actions, from what is unsettled; the first that matches wins",
        (
            "tests/integration/memory/test_pulse.py::test_where_most_that_was_told_is_in_doubt_the_action_is_the_specification_s",
            "tests/unit/model/test_memory.py::test_pending_curation_goes_before_every_state",
            "tests/unit/model/test_memory.py::test_the_action_follows_from_entropy_and_coherence",
        ),
    ),
    "REQ-CORE-005": Requirement(
        "Three verbosity levels; an unknown number is level 1; a call overrides its session",
        (
            "tests/integration/mcp/test_errors.py::test_a_verbosity_that_is_none_counts_as_the_default",
            "tests/integration/mcp/test_errors.py::test_a_call_s_verbosity_overrides_its_session_s_for_that_call_alone",
            "tests/unit/model/test_memory.py::test_verbosity_from_a_number",
        ),
    ),
    "REQ-CORE-006": Requirement(
        "A UTL state has its four fields in their ranges, with the seed's defaults",
        (
            "tests/integration/memory/test_introspection.py::test_memories_of_one_batch_are_measured_against_each_other",
            "tests/unit/model/test_memory.py::test_utl_state_s_defaults_and_ranges",
            "tests/unit/memory/test_store_metrics.py::test_a_text_that_says_nothing_can_not_be_measured",
            "tests/integration/memory/test_pulse.py::test_what_a_memory_shares_with_few_others_connects_it",
            "tests/unit/memory/test_store_metrics.py::test_coherence_change_is_what_a_memory_brings_to_the_mean",
            "tests/unit/memory/test_store_metrics.py::test_learning_needs_both_surprise_and_coherence",
            "tests/unit/memory/test_store_metrics.py::test_surprise_is_the_novelty_against_the_store",
            "tests/unit/memory/test_store_metrics.py::test_the_emotional_weight_follows_importance",
            "tests/unit/memory/test_store_metrics.py::test_the_first_memory_has_the_defaults_and_an_unknown_quadrant",
            "tests/unit/memory/test_store_metrics.py::test_the_phase_is_how_far_a_session_moves_from_one_memory_to_the_next",
        ),
    ),
    "REQ-CORE-007": Requirement(
        "Nodes in RocksDB by id: store, retrieve, delete, search",
        (
            "tests/integration/memory/test_memex.py::test_what_is_stored_comes_back_identical_also_after_closing",
            "tests/integration/store/test_memory_families.py::test_a_kill_at_any_step_leaves_a_store_with_or_without_memory",
            "tests/integration/store/test_memory_families.py::test_an_old_store_gains_them_when_its_memory_is_first_used_and_not_before",
            "tests/integration/store/test_memory_families.py::test_the_families_are_one_a_purpose",
        ),
    ),
    "REQ-CORE-008": Requirement(
        "A write-ahead log, its folder configurable, off for tests only",
        (
            "tests/integration/memory/test_disks.py::test_the_log_may_be_in_another_folder_and_is_found_there_after_a_crash",
            "tests/integration/memory/test_disks.py::test_without_a_log_a_kill_loses_what_was_not_flushed",
            "tests/integration/memory/test_reindex.py::test_killed_at_any_step_it_goes_on_from_there",
            "tests/integration/memory/test_second_vectors.py::test_a_kill_loses_no_memory_and_hardly_any_work",
        ),
    ),
    "REQ-CORE-009": Requirement(
        "Bloom filters of configurable size, measured",
        (
            "tests/integration/memory/test_memex_life.py::test_bloom_filters_spare_reads_of_absent_keys_at_their_rate",
            "tests/integration/memory/test_memex_life.py::test_metrics_are_prometheus_text_too",
            "tests/integration/cli/test_memory.py::test_stats_show_counts_cache_index_provider_and_ledger_and_speak_prometheus",
        ),
    ),
    "REQ-CORE-010": Requirement(
        "An LRU cache of nodes with hit rate, invalidated by writes",
        (
            "tests/integration/memory/test_memex_life.py::test_a_changed_memory_is_never_served_from_the_cache_as_it_was",
            "tests/integration/memory/test_memex_life.py::test_metrics_are_prometheus_text_too",
            "tests/integration/memory/test_memex_life.py::test_the_cache_is_bounded_in_bytes_too",
            "tests/integration/memory/test_memex_life.py::test_the_cache_keeps_what_was_used_last",
            "tests/integration/cli/test_memory.py::test_stats_show_counts_cache_index_provider_and_ledger_and_speak_prometheus",
        ),
    ),
    "REQ-CORE-011": Requirement(
        "10,000 writes a second, batches, metrics",
        (
            "benches/micro/bench_memory.py::test_stores_in_a_row",
            "tests/integration/memory/test_memex.py::test_a_batch_is_stored_whole_or_not_at_all",
            "tests/integration/memory/test_memex_life.py::test_metrics_are_prometheus_text_too",
            "tests/integration/cli/test_memory.py::test_stats_show_counts_cache_index_provider_and_ledger_and_speak_prometheus",
        ),
    ),
    "REQ-CORE-012": Requirement(
        "Versioned binary records; damaged bytes give an error that says so",
        (
            "tests/integration/memory/test_memex.py::test_what_is_stored_comes_back_identical_also_after_closing",
            "tests/integration/memory/test_faults.py::test_a_damaged_record_names_its_memory_and_hides_no_other",
            "tests/unit/store/test_memory_records.py::test_a_node_comes_back_with_every_field",
            "tests/unit/store/test_memory_records.py::test_an_old_version_is_converted",
            "tests/unit/store/test_memory_records.py::test_damage_anywhere_is_an_error_that_names_the_node",
            "tests/unit/store/test_memory_records.py::test_today_s_record_is_byte_for_byte_the_golden_one",
        ),
    ),
    "REQ-CORE-013": Requirement(
        "Soft delete with 30 days, tombstones, permanent delete on the user's request only",
        (
            "tests/integration/memory/test_capture.py::test_a_summary_that_was_forgotten_stays_forgotten",
            "tests/integration/mcp/test_tools.py::test_a_forgotten_memory_is_gone_until_it_is_restored",
            "tests/integration/memory/test_memex.py::test_a_forgotten_memory_is_nowhere_to_be_seen_until_it_is_restored",
            "tests/integration/memory/test_memex.py::test_soft_deleted_memories_are_purged_after_the_retention",
            "tests/integration/memory/test_memex.py::test_what_the_user_had_deleted_leaves_the_disk",
            "tests/integration/cli/test_memory.py::test_forget_restore_and_for_good",
            "tests/integration/memory/test_reindex.py::test_what_is_removed_meanwhile_leaves_no_vector_behind",
        ),
    ),
    "REQ-CORE-014": Requirement(
        "The store_memory tool",
        (
            "tests/contract/test_mcp_schemas.py::test_the_tools_are_those_of_the_issue",
            "tests/integration/memory/test_capture.py::test_a_session_becomes_one_memory_with_its_provenance",
            "tests/integration/mcp/test_tools.py::test_binary_content_is_kept_and_text_in_base64_is_text",
            "tests/integration/mcp/test_tools.py::test_every_parameter_of_store_memory_arrives",
            "tests/integration/mcp/test_tools.py::test_store_memory_returns_id_time_quadrant_and_pulse",
            "tests/integration/memory/test_memex.py::test_a_link_to_an_unknown_memory_is_refused_and_nothing_is_stored",
            "tests/integration/memory/test_memex.py::test_binary_content_is_kept_as_it_is_and_found_by_the_words_about_it",
            "tests/integration/memory/test_memex.py::test_what_is_stored_comes_back_identical_also_after_closing",
            "tests/integration/cli/test_memory.py::test_store_prints_the_id_and_recall_finds_it",
        ),
    ),
    "REQ-CORE-015": Requirement(
        "The recall_memory tool and its filters",
        (
            "tests/integration/memory/test_prompt_context.py::test_a_prompt_brings_what_is_relevant_with_source_and_age_beside_the_state",
            "tests/integration/mcp/test_tools.py::test_recall_memory_ranks_scores_and_pages",
            "tests/integration/cli/test_memory.py::test_store_prints_the_id_and_recall_finds_it",
            "tests/integration/memory/test_recall.py::test_a_query_has_1_to_4096_characters",
            "tests/integration/memory/test_recall.py::test_every_filter_reaches_the_store",
            "tests/integration/memory/test_recall.py::test_min_importance_is_respected",
            "tests/integration/memory/test_recall.py::test_the_best_come_first_with_scores_that_fall",
            "tests/kernels/test_tokens.py::test_a_query_weighs_its_pieces_by_their_rarity",
            "tests/unit/memory/test_filters.py::test_only_live_rows_that_pass_every_filter_are_kept",
        ),
    ),
    "REQ-CORE-016": Requirement(
        "The inject_context tool, its budget, modes and metadata",
        (
            "tests/integration/memory/test_inject_context.py::test_an_injection_answers_with_text_counts_and_figures",
            "tests/integration/memory/test_inject_context.py::test_filters_hold_for_injections",
            "tests/integration/memory/test_inject_context.py::test_finding_nothing_is_no_error",
            "tests/integration/memory/test_inject_context.py::test_neighbours_are_linked_or_alike_and_not_in_the_answer",
            "tests/integration/memory/test_inject_context.py::test_no_injection_exceeds_its_budget",
            "tests/integration/memory/test_inject_context.py::test_other_wrong_parameters_are_named",
            "tests/integration/memory/test_inject_context.py::test_priority_decides_how_much_is_looked_at",
            "tests/integration/memory/test_inject_context.py::test_what_does_not_fit_is_distilled_and_the_ratio_says_how_much",
            "tests/integration/memory/test_inject_context.py::test_what_includes_names_is_worked_out_and_nothing_else",
            "tests/integration/memory/test_prompt_context.py::test_a_prompt_brings_what_is_relevant_with_source_and_age_beside_the_state",
            "tests/integration/mcp/test_tools.py::test_a_memory_can_be_named_as_a_context_names_it",
            "tests/integration/mcp/test_tools.py::test_inject_context_condenses_within_its_budget",
            "tests/integration/cli/test_memory.py::test_inject_prints_the_context_within_its_budget",
            "tests/unit/memory/test_distill.py::test_code_is_not_torn_apart_by_the_other_forms",
            "tests/unit/memory/test_distill.py::test_code_stays_whole_and_comes_first",
            "tests/unit/memory/test_distill.py::test_every_word_told_is_a_memorys_own",
            "tests/unit/memory/test_distill.py::test_memories_that_say_the_same_are_folded_with_their_number",
            "tests/unit/memory/test_distill.py::test_narrative_takes_the_sentences_that_answer",
            "tests/unit/memory/test_distill.py::test_no_text_ever_exceeds_its_budget",
            "tests/unit/memory/test_distill.py::test_segments_hold_all_words_of_a_text",
            "tests/unit/memory/test_distill.py::test_segments_tell_code_items_and_sentences_apart",
            "tests/unit/memory/test_distill.py::test_structured_lists_by_day_where_topics_divide_nothing",
            "tests/unit/memory/test_distill.py::test_structured_lists_by_topic_and_in_order_of_time",
            "tests/unit/memory/test_distill.py::test_what_does_not_fit_is_told_by_what_it_is",
            "tests/unit/memory/test_distill.py::test_what_fits_is_told_raw_by_default",
            "tests/unit/memory/test_distill.py::test_what_follows_a_question_is_credited_with_its_words",
            "tests/unit/memory/test_distill.py::test_what_is_said_already_is_not_said_again",
            "tests/unit/memory/test_distill.py::test_where_not_one_sentence_fits_the_best_memory_is_cut",
            "tests/unit/memory/test_embed.py::test_tokens_are_counted_and_cut_exactly",
            "tests/unit/memory/test_told_lines.py::test_the_budget_holds_exactly_whatever_is_quoted",
        ),
    ),
    "REQ-CORE-017": Requirement(
        "The get_memetic_status tool",
        (
            "tests/integration/memory/test_introspection.py::test_a_consolidation_s_own_link_answers_nothing",
            "tests/integration/memory/test_introspection.py::test_a_link_says_that_two_like_memories_are_meant_to_be_two",
            "tests/integration/memory/test_introspection.py::test_copies_are_one_group_with_bounded_targets",
            "tests/integration/memory/test_introspection.py::test_long_texts_are_compared_when_the_status_is_asked_for",
            "tests/integration/memory/test_introspection.py::test_memories_that_hang_alone_and_are_old_and_unused_are_orphans",
            "tests/integration/memory/test_introspection.py::test_texts_that_oppose_each_other_are_a_contradiction_until_it_is_settled",
            "tests/integration/memory/test_introspection.py::test_a_contradiction_is_told_however_long_ago_the_other_was_stored",
            "tests/integration/memory/test_introspection.py::test_the_concepts_are_the_memories_used_most",
            "tests/integration/memory/test_introspection.py::test_the_same_text_twice_is_a_duplicate_until_one_goes",
            "tests/integration/memory/test_introspection.py::test_the_status_has_the_fields_of_the_specification",
            "tests/integration/mcp/test_tools.py::test_get_memetic_status_reports_what_is_computed",
            "tests/unit/text/test_paraphrase.py::test_a_name_is_the_beginning_of_the_text",
            "tests/unit/text/test_paraphrase.py::test_plain_contradictions_are_found",
            "tests/unit/text/test_paraphrase.py::test_the_same_words_say_the_same",
            "tests/unit/text/test_paraphrase.py::test_what_differs_in_a_particular_does_not_say_the_same",
            "tests/unit/text/test_paraphrase.py::test_what_may_both_be_true_is_no_contradiction",
        ),
    ),
    "REQ-CORE-018": Requirement(
        "The set_verbosity tool",
        (
            "tests/contract/test_mcp_schemas.py::test_the_tools_are_those_of_the_issue",
            "tests/integration/mcp/test_tools.py::test_set_verbosity_holds_for_its_session_and_a_call_overrides_it",
        ),
    ),
    "REQ-CORE-019": Requirement(
        "A pulse in every reply, computed from the store",
        (
            "tests/integration/memory/test_introspection.py::test_a_restart_changes_nothing_that_is_seen",
            "tests/integration/memory/test_introspection.py::test_an_empty_store_wants_exploring",
            "tests/integration/memory/test_introspection.py::test_long_texts_are_compared_when_the_status_is_asked_for",
            "tests/integration/memory/test_introspection.py::test_a_store_that_told_nothing_yet_has_nothing_unsettled",
            "tests/integration/mcp/test_tools.py::test_every_tool_has_the_pulse",
            "tests/integration/memory/test_pulse.py::test_what_was_told_outlives_a_restart_and_is_bounded",
            "tests/integration/memory/test_faults.py::test_a_damaged_record_silences_no_answer_of_its_store",
        ),
    ),
    "REQ-CORE-020": Requirement(
        "Level 0 shows ids only",
        (
            "tests/integration/memory/test_inject_context.py::test_level_0_names_memories_in_some_hundred_tokens",
            "tests/integration/memory/test_inject_context.py::test_one_memory_is_shown_by_level",
            "tests/integration/memory/test_inject_context.py::test_the_levels_of_a_recall_grow",
        ),
    ),
    "REQ-CORE-021": Requirement(
        "Level 1 shows text and ids",
        (
            "tests/integration/memory/test_inject_context.py::test_level_1_gives_texts_and_ids_in_some_two_hundred_tokens",
            "tests/integration/memory/test_inject_context.py::test_long_contents_share_the_room_of_their_level_the_best_most",
        ),
    ),
    "REQ-CORE-022": Requirement(
        "Level 2 shows links, cones, UTL scores and conflicts",
        (
            "tests/integration/memory/test_inject_context.py::test_causal_links_are_edges_of_causal_types",
            "tests/integration/memory/test_inject_context.py::test_cones_hold_parts_by_edge_and_special_cases_by_their_words",
            "tests/integration/memory/test_inject_context.py::test_conflicts_are_stated_or_suspected",
            "tests/integration/memory/test_inject_context.py::test_level_2_tells_all_that_is_known_in_some_eight_hundred_tokens",
            "tests/integration/memory/test_inject_context.py::test_long_contents_share_the_room_of_their_level_the_best_most",
            "tests/integration/memory/test_inject_context.py::test_one_memory_is_shown_by_level",
            "tests/integration/memory/test_inject_context.py::test_the_levels_of_a_recall_grow",
            "tests/integration/mcp/test_tools.py::test_linked_memories_show_their_links_at_level_two",
        ),
    ),
    "REQ-CORE-023": Requirement(
        "Sessions with verbosity and last activity that expire",
        (
            "tests/integration/mcp/test_errors.py::test_an_expired_session_is_refused_from_then_on",
            "tests/integration/mcp/test_tools.py::test_set_verbosity_holds_for_its_session_and_a_call_overrides_it",
            "tests/unit/mcp/test_server.py::test_sessions_are_made_by_use_and_expire_for_good",
        ),
    ),
    "REQ-CORE-024": Requirement(
        "Entropy in [0, 1]: of a result from the distribution of embeddings, of the store what is in doubt",
        (
            "tests/integration/memory/test_introspection.py::test_memories_of_one_batch_are_measured_against_each_other",
            "tests/integration/memory/test_pulse.py::test_a_record_of_what_was_done_stays_so_when_its_file_changes",
            "tests/integration/memory/test_pulse.py::test_entropy_is_the_share_of_what_was_told_that_is_contradicted",
            "tests/integration/memory/test_pulse.py::test_what_rests_on_a_changed_file_is_in_doubt_and_named_until_somebody_confirms_it",
            "tests/unit/memory/test_store_metrics.py::test_a_result_has_figures_of_its_own",
            "tests/unit/memory/test_store_metrics.py::test_one_memory_alone_has_its_own_state_and_none_has_nothing",
        ),
    ),
    "REQ-CORE-025": Requirement(
        "Coherence in [0, 1]: of a result from edges and consistency, of the store what was used",
        (
            "tests/integration/mcp/test_pulse_told.py::test_what_hooks_told_counts_as_used_once_the_session_s_work_has_it",
            "tests/integration/memory/test_pulse.py::test_coherence_is_the_share_of_what_was_told_that_was_used_or_confirmed",
            "tests/unit/memory/test_store_metrics.py::test_a_result_has_figures_of_its_own",
            "tests/unit/memory/test_store_metrics.py::test_one_memory_alone_has_its_own_state_and_none_has_nothing",
        ),
    ),
    "REQ-CORE-026": Requirement(
        "JSON-RPC errors with the seed's codes, nothing internal in them",
        (
            "tests/integration/mcp/test_errors.py::test_a_memory_that_is_not_there_is_a_graph_query_error",
            "tests/integration/memory/test_memex.py::test_a_link_to_an_unknown_memory_is_refused_and_nothing_is_stored",
            "tests/integration/memory/test_memex_life.py::test_an_edge_needs_two_memories_that_are_there",
            "tests/integration/memory/test_disks.py::test_every_error_of_the_tree_makes_a_fault_of_the_protocol",
            "tests/integration/memory/test_faults.py::test_the_data_of_a_fault_names_what_the_row_asks_for",
            "tests/unit/mcp/test_rpc.py::test_errors_carry_code_message_and_data",
        ),
    ),
    "REQ-CORE-027": Requirement(
        "Edges with neurotransmitter weights, steering and domains",
        (
            "tests/integration/memory/test_memex_life.py::test_links_are_seen_from_both_ends_and_change_when_repeated",
            "tests/integration/memory/test_memex_life.py::test_traversals_steer_edges",
            "tests/unit/model/test_memory.py::test_a_valuable_shortcut_is_used_and_rewarded",
            "tests/unit/model/test_memory.py::test_an_edge_outside_its_limits_cannot_be_made",
            "tests/unit/model/test_memory.py::test_each_domain_has_a_profile_of_its_own",
            "tests/unit/model/test_memory.py::test_effective_weight_is_base_profile_and_reward",
            "tests/unit/model/test_memory.py::test_steering_is_clamped_then_decayed",
            "tests/unit/store/test_memory_records.py::test_an_edge_comes_back_with_every_field",
        ),
    ),
}
