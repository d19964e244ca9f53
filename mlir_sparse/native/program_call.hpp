// Calls of programs, whose runtime functions can fail, and the functions that programs expect to find.
#pragma once

#include <map>
#include <string>
#include <string_view>

#if defined(_MSC_VER)
#define MLIR_SPARSE_PROGRAM_FUNCTION extern "C"
#else
#define MLIR_SPARSE_PROGRAM_FUNCTION extern "C" __attribute__((visibility("default")))
#endif

namespace mlir_sparse {

// Ends the call of the program that runs in this thread: `call_program` returns the message. What the program has
// allocated is lost. Callers own nothing that a destructor would free: those are not run.
[[noreturn]] void end_program(const char *message);

// A message for `end_program`, of at most a few hundred characters, which outlives the frame that made it.
const char *program_message(const std::string &message);

// Runs a function of MLIR's packed convention. Returns false, with a message, if a runtime function ended it. What the
// program printed has left this process's buffers when this returns.
bool call_program(void (*function)(void **), void **arguments, std::string &message);

// The address of a function that programs call by name: printing, files of tensors, random numbers; null for none.
void *program_function(const std::string &name);

// The parts of the table behind it.
using ProgramFunctions = std::map<std::string_view, void *>;
void add_print_functions(ProgramFunctions &functions);
void add_memref_functions(ProgramFunctions &functions);
void add_file_functions(ProgramFunctions &functions);
void add_random_functions(ProgramFunctions &functions);

#define MLIR_SPARSE_ADD_FUNCTION(functions, name) (functions)[#name] = reinterpret_cast<void *>(&name)

}  // namespace mlir_sparse
