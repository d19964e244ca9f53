// What `vector.print` calls, and so `sparse_tensor.print`: MLIR's formats, on the standard output of C.

#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "element_types.hpp"
#include "program_call.hpp"

namespace {

// Only a NaN with a sign has one in print, on every system.
void print_real(double value) {
  if (std::isnan(value))
    std::fputs(std::signbit(value) ? "-nan" : "nan", stdout);
  else
    std::fprintf(stdout, "%g", value);
}

}  // namespace

MLIR_SPARSE_PROGRAM_FUNCTION void printI64(int64_t value) { std::fprintf(stdout, "%" PRId64, value); }
MLIR_SPARSE_PROGRAM_FUNCTION void printU64(uint64_t value) { std::fprintf(stdout, "%" PRIu64, value); }
MLIR_SPARSE_PROGRAM_FUNCTION void printF32(float value) { print_real(static_cast<double>(value)); }
MLIR_SPARSE_PROGRAM_FUNCTION void printF64(double value) { print_real(value); }
MLIR_SPARSE_PROGRAM_FUNCTION void printF16(uint16_t bits) {
  print_real(static_cast<double>(mlir_sparse::to_float(mlir_sparse::Half{bits})));
}
MLIR_SPARSE_PROGRAM_FUNCTION void printBF16(uint16_t bits) {
  print_real(static_cast<double>(mlir_sparse::to_float(mlir_sparse::Bfloat{bits})));
}
MLIR_SPARSE_PROGRAM_FUNCTION void printString(const char *text) { std::fputs(text, stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printCString(const char *text) { std::fputs(text, stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printOpen() { std::fputs("( ", stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printClose() { std::fputs(" )", stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printComma() { std::fputs(", ", stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printNewline() { std::fputc('\n', stdout); }
MLIR_SPARSE_PROGRAM_FUNCTION void printFlops(double flops) { std::fprintf(stdout, "%lf GFLOPS\n", flops / 1e9); }

// Seconds and nanoseconds, for differences.
MLIR_SPARSE_PROGRAM_FUNCTION double rtclock() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}
MLIR_SPARSE_PROGRAM_FUNCTION int64_t _mlir_ciface_nanoTime() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
MLIR_SPARSE_PROGRAM_FUNCTION int64_t nanoTime() { return _mlir_ciface_nanoTime(); }

namespace mlir_sparse {

void add_print_functions(ProgramFunctions &functions) {
  MLIR_SPARSE_ADD_FUNCTION(functions, printI64);
  MLIR_SPARSE_ADD_FUNCTION(functions, printU64);
  MLIR_SPARSE_ADD_FUNCTION(functions, printF32);
  MLIR_SPARSE_ADD_FUNCTION(functions, printF64);
  MLIR_SPARSE_ADD_FUNCTION(functions, printF16);
  MLIR_SPARSE_ADD_FUNCTION(functions, printBF16);
  MLIR_SPARSE_ADD_FUNCTION(functions, printString);
  MLIR_SPARSE_ADD_FUNCTION(functions, printCString);
  MLIR_SPARSE_ADD_FUNCTION(functions, printOpen);
  MLIR_SPARSE_ADD_FUNCTION(functions, printClose);
  MLIR_SPARSE_ADD_FUNCTION(functions, printComma);
  MLIR_SPARSE_ADD_FUNCTION(functions, printNewline);
  MLIR_SPARSE_ADD_FUNCTION(functions, printFlops);
  MLIR_SPARSE_ADD_FUNCTION(functions, rtclock);
  MLIR_SPARSE_ADD_FUNCTION(functions, _mlir_ciface_nanoTime);
  MLIR_SPARSE_ADD_FUNCTION(functions, nanoTime);
}

}  // namespace mlir_sparse
