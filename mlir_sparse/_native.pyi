"""Types of the native module; each part of mlir_sparse/native declares here what it registers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

# memory.cpp
def owned_buffers() -> int: ...

# launch.cpp
class Operand:
    def __init__(
        self, type_id: int, shape: Sequence[int], level_sizes: Sequence[int], buffers: Sequence[NDArray[Any]]
    ) -> None: ...
    @property
    def type_id(self) -> int: ...
    @property
    def shape(self) -> list[int]: ...

class Subscript:
    def __init__(self, terms: Sequence[tuple[int, int]], constant: int = 0) -> None: ...

class Parameter:
    @staticmethod
    def sparse(type_id: int, subscripts: Sequence[Subscript]) -> Parameter: ...
    @staticmethod
    def dense(dtype: np.dtype[Any], subscripts: Sequence[Subscript]) -> Parameter: ...

class Result:
    @staticmethod
    def dense() -> Result: ...
    @staticmethod
    def sparse(level_rank: int, buffers: Sequence[np.dtype[Any]]) -> Result: ...

class Launcher:
    def __init__(self, address: int, parameters: Sequence[Parameter], result: Result, variables: int) -> None: ...
    def __call__(self, arguments: tuple[Any, ...], out: Any = None) -> Any: ...
