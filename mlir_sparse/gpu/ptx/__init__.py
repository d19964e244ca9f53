"""From NVVM to PTX."""
