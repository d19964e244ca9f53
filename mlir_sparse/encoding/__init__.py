"""Encodings: how a tensor is stored, from and to the dialect's attribute text.

An encoding's map gives each level an expression over the dimensions and a level type: `(i, j) -> (i : dense, j :
compressed)`. The syntax is the dialect's, and goes on where the dialect ends. `Encoding.mlir_text` refuses such an
encoding with the reason; `Encoding.level_space` gives an encoding of the same buffers that the dialect has:

| spelling | means |
|---|---|
| `j - i`, `(i mod 8) floordiv 2` | any map with an inverse: sums of dimensions, nested blocks, digits in any order |
| `{l}(i = l) -> (l = i : ...)` | an inverse written out, where none can be inferred; it is checked |
| `[c](...) -> (c * 3 * i : dense, ...)` | slots: the n-th entry with the same i is in slot n of 3 |
| `[c](...) -> (c * i : dense, ...)` | as many slots as the i with the most entries needs |
| `[c](...) -> (c * i : dense[0, 1], ...)` | one slot |
| `singleton` below any level | one coordinate for each parent, -1 for a parent without an entry |
| `dense[low, high]` | the coordinates from low up to, not including, high |
| `range` | the coordinates that stay inside the tensor; laid out as dense, zeros elsewhere |
| `range[low, high]`, `range[low]` | an interval for each parent, one after another; `?` is a bound that is stored |
| `offset` | the one coordinate that the levels above add up to |
| `hashed` | a hash table for each parent, all of one width |

The width of hash tables is the least power of two that is at least twice the greatest number of entries of a parent.
An empty slot holds -1; coordinate c is in the first free slot from c mod width on. Examples:

DIA          `(i, j) -> (j - i : compressed, i : range)`
banded       `(i, j) -> (j - i : dense[-1, 2], i : range)`
ELL          `[c](i, j) -> (c * 3 * i : dense, i : dense, j : singleton)`
triangular   `(i, j) -> (i : dense, j : range[0, i + 1])`
skyline      `(i, j) -> (i : dense, j : range[?, i + 1])`
hashed rows  `(i, j) -> (i : dense, j : hashed)`

`LEVEL_FUNCTIONS` holds the capabilities, properties and storage of each level format (Chou et al. 2018, section 3);
`level_table` prints them.
"""

from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_from import encoding
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.level_format import LEVEL_FUNCTIONS, LevelFormat
from mlir_sparse.encoding.level_map import LevelSpec
from mlir_sparse.encoding.level_space import LevelSpace
from mlir_sparse.encoding.level_table import level_table
from mlir_sparse.encoding.level_type import LevelType
from mlir_sparse.encoding.levels.level_functions import LevelFunctions
from mlir_sparse.encoding.levels.level_property import LevelProperty
from mlir_sparse.encoding.preset import Preset
from mlir_sparse.encoding.presets import PRESETS, preset_encoding
from mlir_sparse.encoding.sketch import AxisSketch, PatternSketch, Sketch, uniform_sketch
from mlir_sparse.encoding.tensor_type import TensorType
from mlir_sparse.encoding.typed_literal import TypedValue

__all__ = [
    "LEVEL_FUNCTIONS",
    "PRESETS",
    "AxisSketch",
    "DimSlice",
    "Encoding",
    "LevelFormat",
    "LevelFunctions",
    "LevelProperty",
    "LevelSpace",
    "LevelSpec",
    "LevelType",
    "PatternSketch",
    "Preset",
    "Sketch",
    "TensorType",
    "TypedValue",
    "encoding",
    "level_table",
    "preset_encoding",
    "uniform_sketch",
]
