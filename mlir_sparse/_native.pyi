"""Types of the native module; each part of mlir_sparse/native declares here what it registers."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_Kind = TypeVar("_Kind")

__version__: str
loaded_at: int

# source_files.cpp
def source_files(folder: str, library: str) -> tuple[bytes, int]: ...

# memory.cpp
def owned_buffers() -> int: ...
def reserve(length: int, dtype: np.dtype[Any], zeroed: bool = False) -> NDArray[Any]: ...
def kept_bytes() -> int: ...
def drop_kept() -> None: ...
def trim_heaps() -> None: ...

LARGE_ARRAY: int

def dense_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]: ...
def trim(array: NDArray[Any], length: int, begin: int = 0) -> NDArray[Any]: ...

# launch.cpp
class Operand:
    def __init__(
        self,
        type_id: int,
        shape: Sequence[int],
        level_sizes: Sequence[int],
        buffers: Sequence[NDArray[Any]],
        padded: bool = False,
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
    def sparse(
        buffers: Sequence[np.dtype[Any]],
        depth: int,
        listed: bool,
        positions: Sequence[int],
        coordinates: Sequence[int],
    ) -> Result: ...

class SmallResult:
    def __init__(
        self, lengths: Sequence[int], workspace: Sequence[int], control: Sequence[int], points: int
    ) -> None: ...

class Launcher:
    def __init__(
        self,
        address: int,
        parameters: Sequence[Parameter],
        result: Result,
        variables: int,
        partition: Partition | None = None,
        code: object = None,
    ) -> None: ...
    def __call__(self, arguments: tuple[Any, ...], out: Any = None) -> Any: ...
    def direct(self, arguments: tuple[Any, ...], out: Any = None) -> Any: ...
    def accepts(self, arguments: tuple[Any, ...], out: Any) -> bool: ...
    def fits(self, arguments: tuple[Any, ...]) -> bool: ...
    def framed(self, arguments: tuple[Any, ...], out: Any, lows: Sequence[tuple[int, int]]) -> Any: ...
    def pieces(self, arguments: tuple[Any, ...], points: int) -> int: ...
    def join(
        self,
        arguments: tuple[Any, ...],
        pieces: int,
        buffers: Sequence[NDArray[Any]],
        rooms: Sequence[int],
        both: bool,
        sizes: Sequence[int],
        workspace: Sequence[int],
        limit: int,
    ) -> tuple[list[int], list[int]] | None: ...
    def filled(self, arguments: tuple[Any, ...], small: SmallResult) -> list[NDArray[Any]] | None: ...
    def fill(self, arguments: tuple[Any, ...], buffers: Sequence[NDArray[Any]]) -> bool: ...

# object.cpp
loads_objects: bool
guards_programs: bool

class SizedLauncher:
    def __init__(
        self, launcher: Launcher, bounds: Sequence[tuple[int, int]] = ..., order: Sequence[int] = ..., count: int = 0
    ) -> None: ...
    def within(self, bounds: Sequence[tuple[int, int]]) -> SizedLauncher: ...
    def direct(self, arguments: tuple[Any, ...], out: Any = None) -> Any: ...

# blas.cpp
class BlasThreads:
    def __init__(self, get: int, set: int) -> None: ...
    def get(self) -> int: ...
    def set(self, threads: int) -> None: ...
    def begin(self, threads: int) -> None: ...
    def end(self, threads: int) -> None: ...
    def is_one(self) -> bool: ...
    def forget(self) -> None: ...

class BlasFunctions:
    def __init__(self, gemm: int, gemv: int, syrk: int, wide: bool) -> None: ...

class BlasProduct:
    def __init__(
        self,
        threads: BlasThreads,
        functions: BlasFunctions,
        kind: str,
        rows: int,
        summed: int,
        columns: int,
        turns_left: bool,
        turns_right: bool,
    ) -> None: ...

class RowsAt:
    """The rows of an array at places, for a step of a program: it is called with the array and the places."""

    def __init__(self) -> None: ...

class ProgramStep:
    def __init__(
        self,
        function: Launcher | BlasProduct | RowsAt | Callable[[tuple[Any, ...]], Any],
        operands: Sequence[int],
        result: int,
        shape: Sequence[int],
        dtype: np.dtype[Any],
    ) -> None: ...

class OperandForm:
    def __init__(self, shape: Sequence[int], dtype: np.dtype[Any] | None = None, type_id: int = 0) -> None: ...

class ProgramLauncher:
    def __init__(self, steps: Sequence[ProgramStep], forms: Sequence[OperandForm], values: int) -> None: ...
    def within(self, bounds: Sequence[tuple[int, int]]) -> ProgramLauncher: ...
    def direct(self, arguments: tuple[Any, ...], out: Any = None) -> Any: ...

def make_operands_by(maker: Callable[[Any], Operand | None], tensors: type[Any]) -> None: ...

class Code:
    def __init__(self, data: bytes, names: Sequence[str]) -> None: ...
    @property
    def addresses(self) -> dict[str, int]: ...

# register_partition.cpp
class StoredPart:
    def __init__(
        self,
        parameter: int,
        listed: bool,
        block: int,
        steps: Sequence[tuple[str, int]],
        shifts: Sequence[tuple[int, int, int]],
        stride: int,
        sorted: bool,
        level: int = 0,
    ) -> None: ...

class Partition:
    def __init__(
        self,
        variable: int,
        unit: int,
        listed: bool,
        outcome: str,
        factors: Sequence[int],
        stored: Sequence[StoredPart],
        axes: Sequence[tuple[int, int, int, bool]],
        fills: bool,
        identity: bytes,
        combine: str,
        reached: int = -1,
        weight: int = 1,
        combining: int = 0,
    ) -> None: ...

class Limits:
    def __init__(self, threads: int = 0, deterministic: bool = False) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def is_set(name: str) -> bool: ...
def thread_limit() -> int: ...
def is_deterministic() -> bool: ...
def set_thread_limit(threads: int) -> None: ...
def piece_work() -> int: ...
def set_piece_work(entries: int) -> None: ...
def pool_size() -> int: ...
def combines(name: str) -> bool: ...

# combine_places.cpp
def combine_places(name: str, places: NDArray[Any], values: NDArray[Any]) -> None: ...

# register_stack.cpp
def stack_left() -> int: ...
def run_on_stack(function: Callable[[], object], bytes: int) -> int: ...

# register_machine.cpp
def time_load(bytes: int) -> float: ...
def time_line(bytes: int) -> float: ...
def time_written_line(bytes: int, *, past_caches: bool) -> float: ...
def time_page() -> float: ...
def time_gather(*, vector: bool) -> float: ...
def time_scatter(*, vector: bool) -> float: ...
def time_wrong_guess() -> float: ...
def time_hand_over(*, sleeps: bool) -> float: ...
def time_entries(entries: int, distances: Sequence[int]) -> list[float]: ...
def time_named_elements(distances: Sequence[int]) -> list[float]: ...
def time_named_lines(distances: Sequence[int]) -> list[float]: ...
def set_machine_work(chunk: int, joined_chunk: int) -> None: ...
def set_machine_fill(bytes: int) -> None: ...
def set_machine_watch(microseconds: int) -> None: ...
def set_machine_distances(gathers: int, rows: int) -> None: ...

# pack.cpp, validate.cpp, convert.cpp, convert_matrix.cpp
class LevelFault(ValueError): ...

def pack(
    levels: Sequence[tuple[int, bool, bool, bool, int, int]],
    coordinates: Sequence[NDArray[Any]],
    values: NDArray[Any],
    dtype: str,
    pos_width: int,
    crd_width: int,
    keep_duplicates: bool,
    memory_limit: int,
) -> tuple[list[NDArray[Any] | None], list[NDArray[Any] | None], NDArray[Any]]: ...
def check_ranges(coordinates: Sequence[NDArray[Any]], extents: Sequence[int]) -> list[int]: ...
def validate(
    levels: Sequence[tuple[int, bool, bool, bool, int, int]],
    positions: Sequence[NDArray[Any] | None],
    coordinates: Sequence[NDArray[Any] | None],
    num_values: int,
) -> None: ...
def share_rows(
    positions: object, coordinates: object, values: object, rows: int, size: int, area: int = 1
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None: ...
def share_entries(
    indices: object, values: object, shape: tuple[int, ...], interleaved: bool
) -> tuple[NDArray[Any], tuple[NDArray[Any], ...], NDArray[Any] | None, NDArray[Any]] | None: ...
def join_views(vectors: Sequence[NDArray[Any]]) -> NDArray[Any] | None: ...
def expand(
    levels: Sequence[tuple[int, bool, bool, bool, int, int]],
    positions: Sequence[NDArray[Any] | None],
    coordinates: Sequence[NDArray[Any] | None],
) -> tuple[list[NDArray[Any]], NDArray[Any] | None]: ...
def transpose(
    columns: int, positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def list_rows(
    positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any] | None, rows_only: bool
) -> tuple[NDArray[Any], NDArray[Any] | None]: ...
def block_rows(
    height: int,
    width: int,
    memory_limit: int,
    positions: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def rows_of_list(
    rows: int, row_coordinates: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any], copied: bool
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
def rows_of_slots(
    rows: int, lines: int, by_row: bool, coordinates: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None: ...
def rows_of_diagonals(
    rows: int, columns: int, width: int, offsets: NDArray[np.int64], values: NDArray[Any], dtype: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None: ...
def rows_of_blocks(
    rows: int,
    columns: int,
    height: int,
    width: int,
    positions: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    dtype: str,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None: ...
def slots_of_rows(
    lines: int, by_row: bool, positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def present_diagonals(
    columns: int, positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]
) -> NDArray[np.bool_]: ...
def diagonals_of_rows(
    columns: int,
    begins: NDArray[np.int64],
    count: int,
    positions: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
) -> NDArray[Any]: ...
def longest_row(positions: NDArray[Any]) -> int: ...

# register_degrees.cpp
def segment_degrees(begins: NDArray[Any], above: NDArray[Any] | None = None) -> tuple[float, float, float]: ...
def run_degrees(coordinates: NDArray[Any]) -> tuple[float, float, float]: ...
def count_degrees(
    coordinates: NDArray[Any], extent: int, begins: NDArray[Any] | None = None
) -> tuple[float, float, float, float]: ...
def level_degrees(
    kinds: Sequence[tuple[int, bool, bool, bool]],
    sizes: Sequence[int],
    positions: Sequence[NDArray[Any] | None],
    coordinates: Sequence[NDArray[Any] | None],
    values: int,
) -> list[tuple[float, float, float]]: ...
def sample_entries(
    kinds: Sequence[tuple[int, bool, bool, bool]],
    sizes: Sequence[int],
    positions: Sequence[NDArray[Any] | None],
    coordinates: Sequence[NDArray[Any] | None],
    values: int,
) -> tuple[list[NDArray[np.int64]], float]: ...
def sampled_degrees(coordinates: NDArray[Any], extent: int, chance: float) -> tuple[float, float, float]: ...
def sample_rows(
    positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]
) -> tuple[float, bool, dict[int, float]]: ...

# register_symmetry.cpp
def are_equal(values: NDArray[Any]) -> bool: ...
def are_finite(values: NDArray[Any]) -> bool: ...
def nonzero_places(values: NDArray[Any], limit: int) -> NDArray[np.int64] | None: ...
def is_symmetric(positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]) -> bool: ...

# register_concatenate.cpp
def concatenate(parts: Sequence[NDArray[Any]], shifts: Sequence[int], out: NDArray[Any]) -> None: ...
def rows_beside(
    begins: Sequence[NDArray[Any]],
    coordinates: Sequence[NDArray[Any]],
    shifts: Sequence[int],
    values: Sequence[NDArray[Any]],
    width: np.dtype[Any],
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]: ...
def listed_lines(
    begins: NDArray[Any], coordinates: NDArray[Any], kept: NDArray[np.bool_] | None, extent: int, by_line: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

# level_arrays.cpp
def level_storage(
    kind: type[_Kind],
    encoding: object,
    places: tuple[int, ...],
    sizes: tuple[int, ...],
    buffers: Sequence[NDArray[Any]],
) -> _Kind: ...

# register_triangle.cpp
class Triangle:
    def __init__(
        self,
        positions: NDArray[Any],
        coordinates: NDArray[Any],
        size: int,
        lower: bool,
        by_columns: bool,
        block: int,
    ) -> None: ...
    def solve(self, values: NDArray[Any], given: NDArray[Any], sides: NDArray[Any], unit: bool) -> int: ...
    @property
    def levels(self) -> int: ...

def factor_ilu0(positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]) -> int: ...
def lower_triangle(
    positions: NDArray[Any], coordinates: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def factor_ic0(positions: NDArray[Any], coordinates: NDArray[Any], values: NDArray[Any]) -> int: ...
def inner_product(a: NDArray[Any], b: NDArray[Any]) -> complex: ...
def advance(x: NDArray[Any], r: NDArray[Any], p: NDArray[Any], q: NDArray[Any], step: complex) -> float: ...
def turn_direction(p: NDArray[Any], z: NDArray[Any], factor: complex) -> None: ...

# register_take.cpp
def take_rows(source: NDArray[Any], places: NDArray[Any], out: NDArray[Any]) -> int: ...
def take_segments(
    source: NDArray[Any], begins: NDArray[Any], places: NDArray[Any], starts: NDArray[np.int64], out: NDArray[Any]
) -> None: ...
def chosen_starts(begins: NDArray[Any], coordinates: NDArray[Any], firsts: NDArray[np.int64]) -> NDArray[np.int64]: ...
def chosen_entries(
    begins: NDArray[np.int64],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    firsts: NDArray[np.int64],
    numbers: NDArray[np.int64],
    starts: NDArray[np.int64],
    named: NDArray[Any],
    kept: NDArray[Any],
) -> None: ...
def entries_between(
    begins: NDArray[np.int64],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    low: int,
    step: int,
    count: int,
    reversed: bool,
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]: ...
def find_entries(
    begins: NDArray[np.int64], coordinates: NDArray[Any], lines: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]: ...
def diagonal_entries(
    begins: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    low: int,
    right: int,
    count: int,
    width: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def write_dense(
    begins: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    out: NDArray[Any],
    parent_stride: int,
    extents: Sequence[int],
    strides: Sequence[int],
) -> None: ...
def best_places(
    begins: NDArray[Any],
    coordinates: NDArray[Any],
    values: NDArray[Any],
    extent: int,
    over_rows: bool,
    largest: bool,
) -> NDArray[np.int64]: ...

# register_filter.cpp
def kept_entries(
    begins: NDArray[np.int64], mask: NDArray[np.bool_], coordinates: NDArray[Any], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]: ...
def relocated(columns: Sequence[NDArray[Any]], given: Sequence[int], wanted: Sequence[int]) -> list[NDArray[Any]]: ...

# text.cpp
class RowFault(ValueError): ...

class TextRows:
    def __init__(
        self,
        *,
        extents: Sequence[int],
        value: str,
        comment: str,
        base: int,
        narrow: bool,
        lines: int,
        expected: int,
        most: int,
        memory_limit: int,
    ) -> None: ...
    def feed(self, block: bytes | bytearray | memoryview) -> tuple[int, int]: ...
    def take(self) -> tuple[list[NDArray[Any]], NDArray[Any]]: ...
    @property
    def rows(self) -> int: ...

def text_of_rows(
    coordinates: Sequence[NDArray[Any]], values: Sequence[NDArray[Any]], begin: int, end: int
) -> bytes: ...

# program_memory.cpp
def call_program(function: int, arguments: int) -> str: ...
def program_function(name: str) -> bool: ...
def malloc_copy(array: NDArray[Any]) -> int: ...
def owner_of(allocated: int) -> object: ...
def array_at(
    owner: object, address: int, shape: Sequence[int], strides: Sequence[int], dtype: np.dtype[Any]
) -> NDArray[Any]: ...
