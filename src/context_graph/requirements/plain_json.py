"""JSON in and out without the json package.

That package imports ``re``, which alone costs half a bare interpreter's start; the C scanner and
encoder that it wraps need no pattern at all. Where they are missing, json itself serves.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["dumps", "loads"]

_BLANKS = " \t\n\r"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:  # another interpreter than CPython
    import json

    def loads(text: str | bytes) -> Any:
        return json.loads(text, parse_constant=_refuse_constant)

    def dumps(value: object) -> str:
        return json.dumps(value, allow_nan=False)

else:

    class _Settings:
        strict = True
        object_hook = None
        object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = staticmethod(_refuse_constant)
        memo: dict[str, str] = {}  # noqa: RUF012  # the scanner asks for it by this name

    _scan: Callable[[str, int], tuple[Any, int]] = make_scanner(_Settings)  # type: ignore[arg-type]

    def loads(text: str | bytes) -> Any:
        """The value of ``text``, UTF-8 if it is bytes.

        Raises:
            ValueError: If it is no JSON (NaN and Infinity are none either) or not UTF-8.
            RecursionError: If it is nested too deeply.
        """
        text = (text.decode("utf-8") if isinstance(text, bytes) else text).strip(_BLANKS)
        try:
            value, end = _scan(text, 0)
            if end == len(text):
                return value
        except (StopIteration, SystemError):
            pass  # the scanner leaves the wording of its errors to the json package
        import json

        return json.loads(text, parse_constant=_refuse_constant)

    def _refuse_type(value: object) -> Any:
        raise TypeError(f"{type(value).__name__} can't be written as JSON")

    def dumps(value: object) -> str:
        """``value`` as one line of ASCII JSON.

        Raises:
            TypeError: If it holds what JSON has not.
            ValueError: If it holds NaN or an infinity, or itself.
        """
        encode = make_encoder(
            {}, _refuse_type, encode_basestring_ascii, None, ": ", ", ", False, False, False
        )
        return "".join(encode(value, 0))
