"""`hooks generate-config`: the client's settings.json merged, and hook scripts for four shells.

Knows the client's hook schema and nothing of sessions or stores. Start reading at ``generate``;
``settings`` merges, ``schema`` judges the result, ``scripts`` writes the shell files.
"""

from context_graph.hooks_config.changes import Change, apply_changes, diff_of
from context_graph.hooks_config.generate import plan_changes

__all__ = ["Change", "apply_changes", "diff_of", "plan_changes"]
