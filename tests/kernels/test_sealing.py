"""The envelope of records, on both implementations; and that the two agree."""

from __future__ import annotations

import struct
import zlib
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import sealing as _reference

from context_graph.errors import CorruptedIdentityError
from context_graph.store.layout import unwrap

COMPILED = import_module("context_graph.kernels.sealing")


@pytest.fixture(params=["reference", "compiled"])
def module(request: pytest.FixtureRequest) -> ModuleType:
    return COMPILED if request.param == "compiled" else _reference


def test_the_bytes_are_those_of_the_format(module: ModuleType) -> None:
    head = struct.pack("<BI", 7, 3)
    crc = zlib.crc32(b"abc", zlib.crc32(head, zlib.crc32(b"key")))
    assert module.seal(b"key", 7, b"abc") == head + b"abc" + struct.pack("<I", crc)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 2047, 2048, 2049, 6144])
def test_it_opens_again_and_a_changed_byte_is_noticed(module: ModuleType, length: int) -> None:
    payload = bytes(i * 7 & 255 for i in range(length))
    record = module.seal(b"id", 2, payload)
    assert unwrap(b"id", record, 2) == payload
    with pytest.raises(CorruptedIdentityError):
        unwrap(b"it", record, 2)
    with pytest.raises(CorruptedIdentityError):
        unwrap(b"id", record[:-1] + bytes((record[-1] ^ 1,)), 2)


@pytest.mark.parametrize("version", [-1, 256])
def test_a_version_that_is_no_byte_is_refused(module: ModuleType, version: int) -> None:
    with pytest.raises(ValueError, match="version"):
        module.seal(b"key", version, b"")


@pytest.mark.parametrize("wrong", [bytearray(b"x"), "x", None])
def test_the_compiled_one_takes_bytes_alone(wrong: object) -> None:
    with pytest.raises(TypeError):
        COMPILED.seal(b"key", 1, wrong)


@given(key=st.binary(max_size=40), version=st.integers(0, 255), payload=st.binary(max_size=3000))
def test_the_twins_agree(key: bytes, version: int, payload: bytes) -> None:
    assert COMPILED.seal(key, version, payload) == _reference.seal(key, version, payload)
