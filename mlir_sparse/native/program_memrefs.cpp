// What programs call on whole memrefs: `printMemref*`, which prints in the form of MLIR's runner, and copies.

#include <cinttypes>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "element_types.hpp"
#include "memref_descriptors.hpp"
#include "program_call.hpp"

namespace mlir_sparse {
namespace {

// A memref of any rank and element type: where its sizes and strides are.
struct View {
  const char *data;
  int64_t rank, offset;
  const int64_t *sizes, *strides;
};

View view_of(int64_t rank, const void *descriptor) {
  const auto *words = static_cast<const int64_t *>(descriptor);
  const char *data;
  std::memcpy(&data, words + 1, sizeof data);
  return {data, rank, words[2], words + 3, words + 3 + rank};
}

void print_value(int64_t value) { std::fprintf(stdout, "%" PRId64, value); }
void print_value(int8_t value) { print_value(static_cast<int64_t>(value)); }
void print_value(int16_t value) { print_value(static_cast<int64_t>(value)); }
void print_value(int32_t value) { print_value(static_cast<int64_t>(value)); }
void print_value(double value) { std::fprintf(stdout, "%g", value); }
void print_value(float value) { print_value(static_cast<double>(value)); }
void print_value(Half value) { print_value(to_float(value)); }
void print_value(Bfloat value) { print_value(to_float(value)); }
template <typename T>
void print_value(std::complex<T> value) {
  std::fprintf(stdout, "(%g,%g)", static_cast<double>(value.real()), static_cast<double>(value.imag()));
}

template <typename T>
void print_elements(const View &view, int64_t axis, int64_t offset) {
  if (axis == view.rank) {
    T value;
    std::memcpy(&value, view.data + offset * static_cast<int64_t>(sizeof value), sizeof value);
    return print_value(value);
  }
  std::fputc('[', stdout);
  for (int64_t at = 0; at < view.sizes[axis]; ++at) {
    if (at > 0) {
      std::fputs(axis + 1 < view.rank ? ", \n" : ", ", stdout);
      for (int64_t space = 0; space <= axis; ++space) std::fputc(' ', stdout);
    }
    print_elements<T>(view, axis + 1, offset + at * view.strides[axis]);
  }
  std::fputc(']', stdout);
}

void print_list(const int64_t *values, int64_t count) {
  for (int64_t at = 0; at < count; ++at) std::fprintf(stdout, "%s%" PRId64, at ? ", " : "", values[at]);
}

template <typename T>
void print_memref(const char *kind, const View &view) {
  std::fprintf(stdout, "%s base@ = 0x%" PRIxPTR " rank = %" PRId64 " offset = %" PRId64 " sizes = [", kind,
               reinterpret_cast<std::uintptr_t>(view.data), view.rank, view.offset);
  print_list(view.sizes, view.rank);
  std::fputs("] strides = [", stdout);
  print_list(view.strides, view.rank);
  std::fputs("] data = \n", stdout);
  if (view.rank == 0) std::fputc('[', stdout);
  print_elements<T>(view, 0, view.offset);
  std::fputs(view.rank == 0 ? "]\n" : "\n", stdout);
}

}  // namespace
}  // namespace mlir_sparse

using mlir_sparse::print_memref;
using mlir_sparse::UnrankedMemRef;
using mlir_sparse::view_of;

// For each element type, with MLIR's letters: of any rank, by both conventions, and of a known rank up to 4.
#define MLIR_SPARSE_PRINTED(TYPE)    \
  TYPE(I8, int8_t)                   \
  TYPE(I16, int16_t)                 \
  TYPE(I32, int32_t)                 \
  TYPE(I64, int64_t)                 \
  TYPE(Ind, int64_t)                 \
  TYPE(F16, mlir_sparse::Half)       \
  TYPE(BF16, mlir_sparse::Bfloat)    \
  TYPE(F32, float)                   \
  TYPE(F64, double)                  \
  TYPE(C32, std::complex<float>)     \
  TYPE(C64, std::complex<double>)
#define MLIR_SPARSE_PRINTS(LETTERS, T)                                                                            \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref##LETTERS(UnrankedMemRef *memref) {                   \
    print_memref<T>("Unranked Memref", view_of(memref->rank, memref->descriptor));                                \
  }                                                                                                               \
  MLIR_SPARSE_PROGRAM_FUNCTION void printMemref##LETTERS(int64_t rank, void *descriptor) {                        \
    print_memref<T>("Unranked Memref", view_of(rank, descriptor));                                                \
  }                                                                                                               \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref0d##LETTERS(void *d) { print_memref<T>("Memref", view_of(0, d)); } \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref1d##LETTERS(void *d) { print_memref<T>("Memref", view_of(1, d)); } \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref2d##LETTERS(void *d) { print_memref<T>("Memref", view_of(2, d)); } \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref3d##LETTERS(void *d) { print_memref<T>("Memref", view_of(3, d)); } \
  MLIR_SPARSE_PROGRAM_FUNCTION void _mlir_ciface_printMemref4d##LETTERS(void *d) { print_memref<T>("Memref", view_of(4, d)); }
MLIR_SPARSE_PRINTED(MLIR_SPARSE_PRINTS)

// Copies between memrefs of one shape and any strides.
MLIR_SPARSE_PROGRAM_FUNCTION void memrefCopy(int64_t bytes, UnrankedMemRef *from, UnrankedMemRef *to) {
  const auto source = view_of(from->rank, from->descriptor), target = view_of(to->rank, to->descriptor);
  const int64_t rank = source.rank;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (source.sizes[axis] == 0) return;
  constexpr int64_t kMost = 64;
  if (rank > kMost) mlir_sparse::end_program("expected memrefs of at most 64 axes to copy");
  int64_t at[kMost] = {};
  int64_t read = source.offset, write = target.offset;
  auto *data = const_cast<char *>(target.data);
  for (;;) {
    std::memcpy(data + write * bytes, source.data + read * bytes, static_cast<std::size_t>(bytes));
    int64_t axis = rank - 1;
    for (; axis >= 0; --axis) {  // the next element, the last axis fastest
      read += source.strides[axis];
      write += target.strides[axis];
      if (++at[axis] < source.sizes[axis]) break;
      read -= source.strides[axis] * at[axis];
      write -= target.strides[axis] * at[axis];
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

namespace mlir_sparse {

void add_memref_functions(ProgramFunctions &functions) {
#define MLIR_SPARSE_ADD_PRINTS(LETTERS, T)                                         \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref##LETTERS);          \
  MLIR_SPARSE_ADD_FUNCTION(functions, printMemref##LETTERS);                       \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref0d##LETTERS);        \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref1d##LETTERS);        \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref2d##LETTERS);        \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref3d##LETTERS);        \
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_printMemref4d##LETTERS);
  MLIR_SPARSE_PRINTED(MLIR_SPARSE_ADD_PRINTS)
#undef MLIR_SPARSE_ADD_PRINTS
  MLIR_SPARSE_ADD_FUNCTION(functions, memrefCopy);
}

}  // namespace mlir_sparse
