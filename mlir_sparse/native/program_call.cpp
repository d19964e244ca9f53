// Calls of programs: a runtime function that fails unwinds to the call, so that no file that is missing and no
// assertion ends the process, nor a signal. Compiled code has no destructors to run, and its unwinding tables are not
// loaded.

#include "program_call.hpp"

#include "program_signals.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace mlir_sparse {
namespace {

constexpr std::size_t kLongest = 2000;

struct Call {
  std::jmp_buf place;
  Call *outer;
};

thread_local Call *running = nullptr;
thread_local char failure[kLongest];

// The line printed last: a failed assertion prints what it is about, and aborts.
thread_local std::string last_line;

void keep(const char *message) {
  std::strncpy(failure, message, kLongest - 1);
  failure[kLongest - 1] = '\0';
}

int put_line(const char *text) {
  last_line = text;
  return std::puts(text);
}

void abort_program() {
  const std::string about = last_line.empty() ? "" : ": " + last_line;
  end_program(program_message("expected its assertions to hold, but got one that failed" + about));
}

// Programs write to what malloc returns, whether there was memory or not.
void *allocate(std::size_t bytes) {
  void *found = std::malloc(bytes);
  if (!found && running)
    end_program(program_message("expected memory for what the program allocates, but got none of " +
                                std::to_string(bytes) + " bytes"));
  return found;
}

ProgramFunctions all_functions() {
  ProgramFunctions found;
  add_print_functions(found);
  add_memref_functions(found);
  add_file_functions(found);
  add_random_functions(found);
  found["abort"] = reinterpret_cast<void *>(&abort_program);
  found["malloc"] = reinterpret_cast<void *>(&allocate);
  found["puts"] = reinterpret_cast<void *>(&put_line);
  return found;
}

}  // namespace

const char *program_message(const std::string &message) {
  keep(message.c_str());
  return failure;
}

void end_program(const char *message) {
  if (message != failure) keep(message);
  if (running) std::longjmp(running->place, 1);
  // Threads that a program starts have no call to return from.
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", failure);
  std::abort();
}

bool call_program(void (*function)(void **), void **arguments, std::string &message) {
  Call call;
  call.outer = running;
  last_line.clear();
  failure[0] = '\0';  // is allocated by now, which a signal's handler must not do
  const ProgramSignals signals(&end_program);
  const bool returned = setjmp(call.place) == 0;
  if (returned) {
    running = &call;
    function(arguments);
  }
  running = call.outer;
  std::fflush(stdout);
  if (!returned) message = failure;
  return returned;
}

void *program_function(const std::string &name) {
  static const ProgramFunctions functions = all_functions();
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace mlir_sparse
