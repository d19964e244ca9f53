"""Runs GPU programs: operands on a device, sizes of a call, launches, results, and calls of vendor libraries."""
