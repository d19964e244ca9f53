"""The same operands elsewhere in memory: parts of larger arrays, read-only, at odd addresses, pickled; results too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np

import mlir_sparse as ms
from dialect_tests.calls import Call, Results
from fuzzing.variants.variant import NotApplicableError, Variant

__all__ = ["VARIANTS", "at_odd_address", "within_levels"]

Array = np.ndarray[Any, Any]
Change = Callable[[Array, Random], Array]


def within_levels(tensor: ms.SparseTensor, change: Callable[[Array], Array]) -> ms.SparseTensor:
    """Returns a tensor whose buffers are changed, by the door that takes buffers as they are."""
    storage = tensor.storage
    positions, coordinates = (
        [None if buffer is None else change(buffer) for buffer in buffers]
        for buffers in (storage.positions, storage.coordinates)
    )
    return ms.SparseTensor.from_levels(tensor.encoding, tensor.shape, positions, coordinates, change(storage.values))


def at_odd_address(array: Array, offset: int = 1) -> Array:
    """Returns a copy that begins `offset` bytes after an address that 64 divides."""
    room = np.zeros(array.nbytes + 128, np.uint8)
    start = -room.ctypes.data % 64 + offset
    copy = np.ndarray(array.shape, array.dtype, room[start : start + array.nbytes].data)
    copy[...] = array
    return copy


def _poisoned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns an array of what must not be read."""
    return np.full(shape, np.nan if dtype.kind in "fcV" else 77, dtype)


def _sliced(array: Array, random: Random) -> Array:
    """Returns a view of a larger array, with other strides on each axis, some of them negative."""
    if not array.ndim:
        return array
    steps = [random.choice((1, 2, 3, -1, -2)) for _ in array.shape]
    starts = [random.randrange(3) for _ in array.shape]
    sizes = [start + size * abs(step) + 1 for start, size, step in zip(starts, array.shape, steps, strict=True)]
    large = _poisoned(tuple(sizes), array.dtype)
    view = large[
        tuple(
            slice(start, start + size * abs(step), abs(step))
            for start, size, step in zip(starts, array.shape, steps, strict=True)
        )
    ][tuple(slice(None, None, 1 if step > 0 else -1) for step in steps)]
    view[...] = array
    return view


def _by_columns(array: Array, random: Random) -> Array:
    return np.asfortranarray(array) if array.ndim else array


def _read_only(array: Array, random: Random) -> Array:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def _odd(array: Array, random: Random) -> Array:
    return at_odd_address(array, random.choice((1, 2, 3, 4, 7, 8, 12)))


def _pickled(value: Any, random: Random) -> Any:
    if random.random() < 0.5:
        return pickle.loads(pickle.dumps(value, protocol=random.choice((2, 4, 5))))
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    # As they come from a wire: anywhere, and read only.
    held = [bytes(1) + bytes(buffer.raw()) for buffer in buffers]
    return pickle.loads(text, buffers=[memoryview(one)[1:] for one in held])


def _dense_only(change: Change) -> Callable[[Call, Random], Results]:
    def run(call: Call, random: Random) -> Results:
        dense = {name: value for name, value in call.operands.items() if isinstance(value, np.ndarray)}
        if not dense:
            raise NotApplicableError
        changed = {name: change(value, random) for name, value in dense.items()}
        return replace(call, operands={**call.operands, **changed}).results()

    return run


def _everywhere(change: Change) -> Callable[[Call, Random], Results]:
    """Makes a call with all arrays changed, those of level buffers too."""

    def moved(value: Any, random: Random) -> Any:
        if isinstance(value, ms.SparseTensor):
            return within_levels(value, lambda buffer: change(buffer, random))
        return change(value, random)

    def run(call: Call, random: Random) -> Results:
        changed = {name: moved(value, random) for name, value in call.tensors.items()}
        return replace(call, operands={**call.operands, **changed}).results()

    return run


def _through_pickle(call: Call, random: Random) -> Results:
    changed = {name: _pickled(value, random) for name, value in call.tensors.items()}
    return replace(call, operands={**call.operands, **changed}).results()


def _room(call: Call) -> Array:
    """Returns an array for a dense result, of garbage."""
    if isinstance(call.program, str) and call.semiring is None and len(call.tensors) != len(call.operands):
        raise NotApplicableError
    found = call.results()
    if len(found) != 1 or not isinstance(found[0], np.ndarray) or not found[0].ndim:
        raise NotApplicableError
    return _poisoned(found[0].shape, found[0].dtype)


def _into_array(change: Change) -> Callable[[Call, Random], Results]:
    def run(call: Call, random: Random) -> Results:
        room = _room(call)
        given = change(room, random)
        given[...] = room
        found = replace(call, out=given).results()
        assert found[0] is given, "expected the array that was given"
        return found

    return run


def _into_operand(call: Call, random: Random) -> Results:
    """Makes a call that writes to an array that it reads."""
    room = _room(call)
    fitting = [
        name
        for name, value in call.operands.items()
        if isinstance(value, np.ndarray) and (value.shape, value.dtype) == (room.shape, room.dtype)
    ]
    if not fitting:
        raise NotApplicableError
    name = random.choice(fitting)
    own = call.operands[name].copy()
    return replace(call, operands={**call.operands, name: own}, out=own).results()


VARIANTS = (
    Variant("sliced from larger arrays", _dense_only(_sliced), same_bits=True),
    Variant("arrays by columns", _dense_only(_by_columns), same_bits=True),
    Variant("read-only", _everywhere(_read_only), same_bits=True),
    Variant("at odd addresses", _everywhere(_odd), share=0.2, same_bits=True),
    Variant("through pickle", _through_pickle, same_bits=True),
    Variant("into an array", _into_array(lambda array, _: array.copy()), same_bits=True),
    Variant("into a slice", _into_array(_sliced), same_bits=True),
    Variant("into an array at an odd address", _into_array(_odd), same_bits=True),
    Variant("into an operand", _into_operand, share=0.2, same_bits=True),
)
