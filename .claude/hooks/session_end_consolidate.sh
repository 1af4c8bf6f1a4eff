#!/usr/bin/env bash
# Claude Code hook: SessionEnd, consolidation of the project's memory
# The owner does this by itself once the client is gone (setting dream_session_end). This script is for those who
# have switched that off and want it here, and for running by hand.
# Run by the client it starts the consolidation and does not wait: the client's exit waits for its hooks. Run by hand
# it waits and prints what was done. CONSOLIDATION_WAIT=true or false decides otherwise.
# Settings, by environment: CONSOLIDATION_MODE (light, deep, rem), SALIENCE_THRESHOLD, DRY_RUN (true, false), LOG_FILE.
# Never exit 2: that would block the client.
set -uo pipefail

command -v context-graph-cli >/dev/null 2>&1 || exit 0

if [ -z "${CONSOLIDATION_WAIT:-}" ]; then
    # The client sets this for its hooks.
    if [ -n "${CLAUDE_PROJECT_DIR:-}" ]; then CONSOLIDATION_WAIT=false; else CONSOLIDATION_WAIT=true; fi
fi
if [ "$CONSOLIDATION_WAIT" != true ]; then
    # In a session of its own and without our streams: the client waits for their end, and ends its hooks' processes.
    CONSOLIDATION_WAIT=true setsid -f "$0" </dev/null >/dev/null 2>&1
    exit 0
fi

root="${CONTEXT_GRAPH_HOME:-${XDG_DATA_HOME:-${HOME:-/nonexistent}/.local/share}/context-graph}"
log_file="${LOG_FILE:-$root/log/consolidate.log}"
call=(context-graph-cli memory consolidate --json
    --mode "${CONSOLIDATION_MODE:-light}" --salience-threshold "${SALIENCE_THRESHOLD:-0.3}")
[ "${DRY_RUN:-false}" = true ] && call+=(--dry-run)

log() {
    mkdir -p -- "$(dirname -- "$log_file")" 2>/dev/null
    printf '[%s] %s\n' "$(date -Iseconds)" "$*" 2>/dev/null >>"$log_file" || :
}

field() {
    printf '%s\n' "$result" | sed -n "s/.*\"$1\": \([0-9][0-9]*\).*/\1/p"
}

log "consolidation begins: ${call[*]}"
if ! result="$("${call[@]}" 2>&1 </dev/null)"; then
    log "consolidation failed: $result"
    printf '%s\n' "$result" >&2
    exit 1
fi
pruned=$(field pruned_count) merged=$(field merged_count)
clusters=$(field clusters_discovered) took=$(field duration_ms)
log "consolidation complete: pruned=$pruned merged=$merged clusters=$clusters duration=${took}ms"
printf 'Memory consolidation completed:\n'
printf '  - Pruned: %s memories\n  - Merged: %s duplicates\n' "$pruned" "$merged"
printf '  - Clusters: %s discovered\n  - Duration: %sms\n' "$clusters" "$took"
exit 0
