"""GPUs: the driver, streams, and arrays in device memory.

`driver` names devices, `streams` orders the work on them, `device_array` holds memory, and `exchange` takes arrays of
other libraries. The driver is loaded at the first use. Nothing falls back to the host: without a driver everything
here raises `DeviceError`.
"""

from mlir_sparse.device.device_array import DeviceArray, empty, from_host
from mlir_sparse.device.driver import Device, available, chip_of, count, device, memory_info
from mlir_sparse.device.exchange import as_device, is_device_source
from mlir_sparse.device.streams import Stream, current_stream, on_stream, synchronize

__all__ = [
    "Device",
    "DeviceArray",
    "Stream",
    "as_device",
    "available",
    "chip_of",
    "count",
    "current_stream",
    "device",
    "empty",
    "from_host",
    "is_device_source",
    "memory_info",
    "on_stream",
    "synchronize",
]
