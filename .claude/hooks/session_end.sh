#!/usr/bin/env bash
# Claude Code hook: SessionEnd
# Implements: REQ-HOOKS-05, REQ-HOOKS-21, REQ-HOOKS-22, REQ-HOOKS-31
# Written by `context-graph-cli hooks generate-config --shell bash`; --force overwrites changes.
# Budget of this event: 30000 ms; the CLI keeps it, and waits 1000 ms at most.
# Standard input goes to the CLI unread. Never exit 2: that would block the client.
command -v context-graph-cli >/dev/null 2>&1 || exit 0
context-graph-cli hooks session-end --stdin --format claude
exit 0
