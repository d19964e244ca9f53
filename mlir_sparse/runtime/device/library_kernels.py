"""Small kernels in PTX for use with vendor libraries: an elementwise product, and 2:4 storage to dense.

They are written by hand, so that they need the driver only; each thread computes one entry.
"""

from __future__ import annotations

from functools import lru_cache

from mlir_sparse import _cuda
from mlir_sparse.device import DeviceArray, current_stream
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import UnsupportedError

__all__ = ["expand", "expand_ptx", "scale", "scale_ptx"]

_THREADS = 256
_HEAD = """.version 7.0
.target sm_80
.address_size 64

.visible .entry {name}(.param .u64 p_target, .param .u64 p_source, .param .u64 p_places, .param .u64 p_count)
{{
  .reg .pred %done;
  .reg .b16 %h<4>;
  .reg .b32 %r<4>;
  .reg .b64 %at, %span, %count, %target, %source, %place, %group, %step;
  .reg .f32 %f<8>;
  .reg .f64 %d<8>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %span, %r1, %r2;
  cvt.u64.u32 %at, %r3;
  add.u64 %at, %at, %span;
  ld.param.u64 %count, [p_count];
  setp.ge.u64 %done, %at, %count;
  @%done bra DONE;
  ld.param.u64 %target, [p_target];
  ld.param.u64 %source, [p_source];
  cvta.to.global.u64 %target, %target;
  cvta.to.global.u64 %source, %source;
"""
_TAIL = "DONE:\n  ret;\n}\n"

# Instructions for a type: loads of two numbers, their product, its store.
_SCALES = {
    "f32": "ld.global.f32 %f0, [%target];\n  ld.global.f32 %f1, [%source];\n  mul.rn.f32 %f0, %f0, %f1;\n"
    "  st.global.f32 [%target], %f0;\n",
    "f64": "ld.global.f64 %d0, [%target];\n  ld.global.f64 %d1, [%source];\n  mul.rn.f64 %d0, %d0, %d1;\n"
    "  st.global.f64 [%target], %d0;\n",
    "f16": "ld.global.b16 %h0, [%target];\n  ld.global.b16 %h1, [%source];\n  mul.rn.f16 %h0, %h0, %h1;\n"
    "  st.global.b16 [%target], %h0;\n",
    # The first chips with bf16 have only a fused multiply-add for it; -0 is added here.
    "bf16": "ld.global.b16 %h0, [%target];\n  ld.global.b16 %h1, [%source];\n  mov.b16 %h2, 0x8000;\n"
    "  fma.rn.bf16 %h0, %h0, %h1, %h2;\n  st.global.b16 [%target], %h0;\n",
}


def _complex_scale(kind: str) -> str:
    register = {"f32": "%f", "f64": "%d"}[kind]
    a, b, c, d, e, f = (f"{register}{number}" for number in range(6))
    lines = (
        f"ld.global.v2.{kind} {{{a}, {b}}}, [%target];",
        f"ld.global.v2.{kind} {{{c}, {d}}}, [%source];",
        f"mul.rn.{kind} {e}, {a}, {c};",
        f"mul.rn.{kind} {f}, {b}, {d};",
        f"sub.rn.{kind} {e}, {e}, {f};",
        f"mul.rn.{kind} {f}, {a}, {d};",
        f"fma.rn.{kind} {f}, {b}, {c}, {f};",
        f"st.global.v2.{kind} [%target], {{{e}, {f}}};",
    )
    return "\n  ".join(lines) + "\n"


def scale_ptx(dtype: DType) -> str:
    """Returns a kernel for an elementwise product in place.

    Raises:
        UnsupportedError: for integers.
    """
    bodies = {**_SCALES, "c64": _complex_scale("f32"), "c128": _complex_scale("f64")}
    if dtype.name not in bodies:
        raise UnsupportedError(f"expected an element type of {', '.join(bodies)}, but got {dtype}")
    addresses = "".join(f"  mad.lo.u64 {base}, %at, {dtype.itemsize}, {base};\n" for base in ("%target", "%source"))
    return _HEAD.format(name=f"scale_{dtype.name}") + addresses + "  " + bodies[dtype.name] + _TAIL


def expand_ptx(crd_bits: int) -> str:
    """Returns a kernel that scatters numbers of 2 bytes, 2 of every 4 elements, to their coordinates."""
    load = {
        8: "ld.global.u8 %h0, [%place];\n  cvt.u64.u16 %step, %h0;",
        16: "ld.global.u16 %h0, [%place];\n  cvt.u64.u16 %step, %h0;",
        32: "ld.global.u32 %r1, [%place];\n  cvt.u64.u32 %step, %r1;",
        64: "ld.global.u64 %step, [%place];",
    }[crd_bits]
    body = f"""  ld.param.u64 %place, [p_places];
  cvta.to.global.u64 %place, %place;
  mad.lo.u64 %place, %at, {crd_bits // 8}, %place;
  {load}
  shr.u64 %group, %at, 1;
  mad.lo.u64 %step, %group, 4, %step;
  mad.lo.u64 %target, %step, 2, %target;
  mad.lo.u64 %source, %at, 2, %source;
  ld.global.b16 %h1, [%source];
  st.global.b16 [%target], %h1;
"""
    return _HEAD.format(name=f"expand_{crd_bits}") + body + _TAIL


@lru_cache(maxsize=32)
def _function(text: str, name: str) -> _cuda.Function:
    return _cuda.Function(_cuda.Module(text, name), name)


def _launch(function: _cuda.Function, target: DeviceArray, source: DeviceArray, places: int, count: int) -> None:
    grid = (-(-count // _THREADS), 1, 1)
    addresses = (target.use(writes=True), source.use(), places, count)
    function.launch(target.device.number, grid, (_THREADS, 1, 1), 0, current_stream(), addresses)


def scale(target: DeviceArray, source: DeviceArray) -> None:
    """Multiplies an array elementwise by another of the same type, in place."""
    dtype = DType.of(target.dtype)
    _launch(_function(scale_ptx(dtype), f"scale_{dtype.name}"), target, source, 0, target.size)


def expand(target: DeviceArray, values: DeviceArray, coordinates: DeviceArray) -> None:
    """Scatters the values of 2:4 storage to a dense matrix of zeros, whose number of columns is a multiple of 4."""
    bits = coordinates.dtype.itemsize * 8
    _launch(_function(expand_ptx(bits), f"expand_{bits}"), target, values, coordinates.use(), values.size)
