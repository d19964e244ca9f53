"""Streams: what is launched on one runs in order, and beside what is launched on others.

Each thread has a current stream, the device's default one at first, which other libraries
use by default too. Arrays remember the stream they were last written on: work on another
waits for it, on the device.
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
    """A stream of a device, destroyed with the object.

    Args:
        where: the device.
    """

    __slots__ = ("_made", "device")

    def __init__(self, where: str | Device = "cuda") -> None:
        self.device = device(where)
        self._made = _cuda.Stream(self.device.number)

    @property
    def handle(self) -> int:
        """Returns the driver's handle."""
        return self._made.handle

    def synchronize(self) -> None:
        """Waits for all that was launched on the stream."""
        _cuda.synchronize(self.device.number, self.handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def current_stream() -> int:
    """Returns the handle of the stream that this thread launches on; 0 is the default stream."""
    return _local.handle


@contextmanager
def on_stream(stream: Any) -> Iterator[None]:
    """Makes a stream the current one of this thread for a `with` block.

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
        OperandError: for what is no stream.
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
    """Lets what a stream does next wait for what another was given."""
    if before == after:
        return
    event = _cuda.Event(where.number)
    event.record(before)
    event.hold(after)


def synchronize(where: str | Device = "cuda", stream: Any = None) -> None:
    """Waits for all that was launched on a stream, by default the current one.

    Raises:
        DeviceError: when a kernel failed.
    """
    handle = current_stream() if stream is None else handle_of(stream)
    _cuda.synchronize(device(where).number, handle)
    _cuda.raise_noted()
