"""Streams: work on one stream runs in order, and beside the work on other streams.

Each thread has a current stream. It is the device's default stream at first, as in other libraries. An array
remembers the stream that last wrote it; the device makes work on another stream wait for that one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mlir_sparse import _cuda
from mlir_sparse.device.driver import Device, device
from mlir_sparse.errors import OperandError

__all__ = ["DEFAULT", "Stream", "current_stream", "handle_of", "on_stream", "order", "synchronize"]

DEFAULT = 0


class _Local(threading.local):
    handle = DEFAULT


_local = _Local()


class Stream:
    """A stream of a device, which lives as long as this object."""

    __slots__ = ("_stream", "device")

    def __init__(self, where: str | Device = "cuda") -> None:
        self.device = device(where)
        self._stream = _cuda.Stream(self.device.number)

    @property
    def handle(self) -> int:
        """Returns the driver's handle."""
        return self._stream.handle

    def synchronize(self) -> None:
        """Waits for all work launched on the stream."""
        _cuda.synchronize(self.device.number, self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def current_stream() -> int:
    """Returns the handle of the stream that this thread launches on; 0 is the default stream."""
    return _local.handle


@contextmanager
def on_stream(stream: Any) -> Iterator[None]:
    """Makes a stream this thread's current one inside a `with` block.

    Args:
        stream: a Stream, one of PyTorch's or CuPy's, or a handle.
    """
    handle, before = handle_of(stream), _local.handle
    _local.handle = handle
    try:
        yield
    finally:
        _local.handle = before


def handle_of(stream: Any) -> int:
    """Returns the driver's handle of a stream of any library.

    Raises:
        OperandError: for an object that is no stream.
    """
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
        if isinstance(found := getattr(stream, name, None), int):
            return found
    raise OperandError(f"expected a stream of CUDA, but got {type(stream).__name__}")


def order(where: Device, before: int, after: int) -> None:
    """Makes the next work on one stream wait for all work launched on another."""
    if before == after:
        return
    event = _cuda.Event(where.number)
    event.record(before)
    event.hold(after)


def synchronize(where: str | Device = "cuda", stream: Any = None) -> None:
    """Waits for all work launched on a stream, by default the current one.

    Raises:
        DeviceError: when a kernel failed.
    """
    handle = current_stream() if stream is None else handle_of(stream)
    _cuda.synchronize(device(where).number, handle)
    _cuda.raise_noted()
