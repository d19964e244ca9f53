"""The section `shapes`: more kernels, on inputs with the shape of real ones, in any size.

Shapes of matrices (`matrix_shapes.py`) and tensors (`tensor_shapes.py`) take a number of entries. An input is a shape
and a size (`shape_inputs.py`), a contest a kernel on it (`shape_contests.py`). What comes out is held against bounds
that are the same for every kernel (`shape_summary.py`), and results of several machines are shown beside each other
(`side_by_side.py`).
"""

from __future__ import annotations

__all__ = ["SECTION"]

SECTION = "shapes"
