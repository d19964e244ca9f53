"""Devices by name, and their properties."""

from __future__ import annotations

import re

from mlir_sparse import _cuda
from mlir_sparse.classes import dataclass
from mlir_sparse.device.cuda_libraries_found import load_driver
from mlir_sparse.errors import DeviceError, UnsupportedError

__all__ = ["Device", "available", "chip_of", "count", "device", "memory_info"]

_NAME = r"cuda(?::(\d{1,4}))?"
# Of `CUdevice_attribute`: the compute capability.
_MAJOR, _MINOR = 75, 76


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU by its number in this process.

    >>> str(Device(1))
    'cuda:1'
    """

    number: int

    def __str__(self) -> str:
        return f"cuda:{self.number}"


def device(name: str | Device) -> Device:
    """Returns the device with a name: `cuda` is the first, `cuda:1` the second.

    Raises:
        UnsupportedError: for any other name.
        DeviceError: without a driver, or without that device.
    """
    if isinstance(name, Device):
        return name
    match = re.fullmatch(_NAME, name, re.ASCII) if isinstance(name, str) else None
    if match is None:
        raise UnsupportedError(f"expected a device such as 'cuda' or 'cuda:1', or 'cpu', but got {name!r}")
    number, present = int(match[1] or 0), count()
    if number >= present:
        last = f"cuda:{present - 1}" if present else "no CUDA device"
        raise DeviceError(f"expected a device up to {last}, but got {name!r}")
    return Device(number)


def count() -> int:
    """Returns the number of devices.

    Raises:
        DeviceError: without a driver.
    """
    load_driver()
    return _cuda.device_count()


def available() -> bool:
    """Returns whether there is a driver and a device."""
    try:
        return count() > 0
    except DeviceError:
        return False


def chip_of(where: Device) -> str:
    """Returns the chip of a device as compilers call it, such as `sm_90`."""
    load_driver()
    return f"sm_{_cuda.attribute(where.number, _MAJOR)}{_cuda.attribute(where.number, _MINOR)}"


def memory_info(where: Device) -> tuple[int, int]:
    """Returns the free and the total bytes of a device's memory."""
    load_driver()
    return _cuda.memory_info(where.number)
