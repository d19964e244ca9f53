// Signals that a program raises by what it does: a wild pointer, a stack that overflows, an instruction that traps.
#pragma once

// Sanitizers have handlers of their own, which report more.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MLIR_SPARSE_GUARDS_PROGRAMS 1
#else
#define MLIR_SPARSE_GUARDS_PROGRAMS 0
#endif

namespace mlir_sparse {

// What `program_signals.cpp` calls in the thread of a program that a signal stops, with why: it does not return.
using EndBySignal = void (*)(const char *message);

// As long as one lives, signals of the program that its thread runs end the program; others go to who had them before.
class ProgramSignals {
 public:
  explicit ProgramSignals(EndBySignal end);
  ~ProgramSignals();
  ProgramSignals(const ProgramSignals &) = delete;
  ProgramSignals &operator=(const ProgramSignals &) = delete;

 private:
  EndBySignal outer_ = nullptr;
};

}  // namespace mlir_sparse
