"""Makes the redacted copy of a hook's input for the spool: texts cut, nothing secret in it (invariant 10).

Twin of ext/launcher/src/copy.rs, which has a scanner of its own; here are the owner's rules (``redact``),
with detect-secrets' among them once an owner has read those. They cost 0.1 s to load, which only an event
without an owner pays. Where they can't be loaded all texts are masked.
"""

from __future__ import annotations

import sys

from context_graph.front.document import DEPTH_MAX, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from context_graph.redact import Redactor

TEXT_MAX = 8192
"""Longest text that the spool keeps of one string, bytes."""
_LOOK_AHEAD = 4096
"""Read beyond the cut, so that a secret that straddles it is still recognised by its whole."""
_NAME_MAX = 64
"""Longest text of a list that can be the name of the one after it."""
_IDENTITIES = frozenset(
    (
        *("session_id", "previous_session_id", "tool_use_id", "prompt_id", "agent_id", "hook_event_name"),
        *("hook_type", "tool_name", "transcript_path", "cwd", "source", "type"),
    )
)
"""Names of what the owner tells events apart by; only what can be nothing but a secret is masked in them."""
_HEADERS = frozenset(("authorization", "proxy-authorization", "cookie", "set-cookie"))
"""Names whose whole value is a secret, whatever it looks like."""
_VALUES = frozenset(("value", "parametervalue"))
"""Names of fields that hold what a field beside them names."""
_LABELS = frozenset(("name", "key", "id", "label", "field", "variable", "parameterkey", "parametername"))
"""Names of fields that name what a field beside them holds."""
_MASK = "[redacted:assignment]"
_UNCHECKED = "[redacted:unchecked]"
_PROBE = "Kv7#x2Lq9"
"""What would be a secret under a name that tells of one, and is none elsewhere."""


class Copier:
    """Copies values of one data root's hooks without their secrets."""

    def __init__(self, _root: str) -> None:
        self._rules: Redactor | None = None
        self._tells: dict[str, bool] = {}
        try:
            from context_graph.redact import Redactor

            self._rules = Redactor()
        except Exception:  # an installation that is not whole must not let a secret through
            pass

    def text(self, value: str, *, identity: bool = False) -> str:
        """``value`` masked and cut; of an id or a path only what can be nothing but a secret."""
        value = clean(value)
        if self._rules is None:
            return value[:TEXT_MAX] if identity or not value else _UNCHECKED
        try:
            if identity:
                return self._rules.redact_id(value.encode()[:TEXT_MAX].decode("utf-8", "ignore"))
            return self._rules.redact_cut(value, TEXT_MAX, TEXT_MAX + _LOOK_AHEAD)
        except Exception:  # an odd text must neither lose its event nor pass unseen
            return _UNCHECKED

    def value(self, value: Any) -> Any:
        """A JSON value of whatever depth up to DEPTH_MAX."""
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * DEPTH_MAX))
        return self._copy(value, "", secret=False)

    def _copy(self, value: Any, name: str, *, secret: bool) -> Any:
        if isinstance(value, str):
            return self._under(value, name, secret=secret)
        if isinstance(value, dict):
            return self._fields(value, secret=secret)
        if isinstance(value, list):
            return self._list(value, secret=secret)
        if (
            secret
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
            and "pass" in name.lower()
        ):
            return _MASK
        return value

    def _fields(self, fields: dict[str, Any], *, secret: bool) -> dict[str, Any]:
        """`"name": "DB_PASSWORD", "value": "x"`, either first: the value goes as under that name."""
        made = {}
        named = ""
        held: tuple[str, Any] | None = None
        for key, value in fields.items():
            is_value = key.lower() in _VALUES
            name = named if is_value and self._is_worth_masking(value) else ""
            under = secret or self._names_a_secret(key) or bool(name)
            place = self._name(key)
            made[place] = self._copy(value, name or key, secret=under)
            if isinstance(value, (dict, list)):
                named, held = "", None
            elif is_value:
                held = (place, value) if not under and self._is_worth_masking(value) else None
            elif (
                isinstance(value, str)
                and not under
                and key not in _IDENTITIES
                and self._tells_the_next(value)
            ):
                named = value
                if held and key.lower() in _LABELS:
                    made[held[0]] = self._copy(held[1], value, secret=True)
        return made

    def _name(self, name: str) -> str:
        """A field's name; where nothing can be checked, one that can be nothing else is kept."""
        plain = self._rules is None and name.isidentifier() and name.isascii() and name.islower()
        return name if plain and len(name) <= _NAME_MAX else self.text(name)

    def _under(self, value: str, name: str, *, secret: bool) -> str:
        if name in _IDENTITIES and not secret:
            return self.text(value, identity=True)
        if secret and value:
            return _MASK
        made = self.text(value)
        # What is told by its name and its form together, and was not by its form alone.
        if made == value and name and self._rules is not None and self._rules.finds(f"{clean(name)}: {made}"):
            return _MASK
        return made

    def _list(self, values: list[Any], *, secret: bool) -> list[Any]:
        """`"--password", "x"` and `"Authorization", "x"`: the next text is what this one names."""
        made = []
        named = False
        for value in values:
            made.append(self._copy(value, "", secret=secret or (named and isinstance(value, str))))
            named = isinstance(value, str) and not named and self._tells_the_next(value)
        return made

    def _is_worth_masking(self, value: Any) -> bool:
        if isinstance(value, str) and self._rules is not None:
            return self._rules.finds(f'password: "{value}"')
        return not isinstance(value, (dict, list))

    def _tells_the_next(self, value: str) -> bool:
        return len(value) <= _NAME_MAX and " " not in value and self._names_a_secret(value)

    def _names_a_secret(self, name: str) -> bool:
        """Whether a field of this name holds a secret: then its value is masked whole."""
        if self._rules is None or len(name) > 4 * _NAME_MAX or name in _IDENTITIES:
            return False
        found = self._tells.get(name)
        if found is None:
            bare = clean(name).lstrip("-")
            found = self._tells[name] = bare.lower() in _HEADERS or any(
                self._rules.finds(form)
                for form in (f'"{bare}": "{_PROBE}"', f"{bare}: {_PROBE}", f"{bare}={_PROBE}")
            )
        return found
