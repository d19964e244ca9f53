// Programs of users may read and write anywhere. Where the machine stops one by a signal, its call ends with a message:
// compiled code holds no locks and has no destructors, so that it can be left at any instruction. A signal inside of
// another library (malloc with its memory overwritten, for example) is left to whoever had it before: it may hold locks.

#include "program_signals.hpp"

#if MLIR_SPARSE_GUARDS_PROGRAMS

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace mlir_sparse {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr std::size_t kSignalCount = sizeof kSignals / sizeof *kSignals;
constexpr std::size_t kStackBytes = std::size_t{1} << 16;  // what the kernel saves of wide vectors takes 11 KiB
constexpr std::uintptr_t kNear = std::uintptr_t{1} << 16;
constexpr std::uintptr_t kLongestFunction = 4096;

// By thread, what ends its program. A variable of a thread may be allocated as it is read first: not in a handler.
pthread_key_t end_here;

std::mutex installing;
int installed = 0;
struct sigaction before[kSignalCount];

struct Place {
  std::uintptr_t instruction, stack;
};

Place place_in(const ucontext_t &context) {
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]),
          static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {static_cast<std::uintptr_t>(context.uc_mcontext.pc), static_cast<std::uintptr_t>(context.uc_mcontext.sp)};
#else
  (void)context;
  return {1, 1};
#endif
}

bool is_in(std::uintptr_t instruction, const void *function) {
  const auto begin = reinterpret_cast<std::uintptr_t>(function);
  return instruction >= begin && instruction - begin < kLongestFunction;
}

// Whether an instruction is of compiled code, of this library, or of C's functions on bytes, which hold no locks.
bool may_leave(std::uintptr_t instruction) {
  Dl_info found, own;
  if (!dladdr(reinterpret_cast<void *>(instruction), &found)) return true;  // no file has it: it was made here
  if (dladdr(reinterpret_cast<void *>(&may_leave), &own) && own.dli_fbase == found.dli_fbase) return true;
  for (const char *name : {"memcpy", "memmove", "memset", "strlen"})
    if (const void *function = dlsym(RTLD_DEFAULT, name); function && is_in(instruction, function)) return true;
  return false;
}

const char *reason(int signal, const siginfo_t &info, std::uintptr_t stack, char *text, std::size_t bytes) {
  constexpr char kWayOut[] = "; in_child() runs one in a process of its own";
  const auto address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const char *name = signal == SIGSEGV ? "SIGSEGV" : signal == SIGBUS ? "SIGBUS" : signal == SIGFPE ? "SIGFPE" : "SIGILL";
  if (signal == SIGSEGV && info.si_code != SI_KERNEL && address < stack + kNear && stack < address + kNear)
    std::snprintf(text, bytes, "expected a program whose calls and arrays fit on the stack, but it overflowed (%s)%s", name,
                  kWayOut);
  else if (signal == SIGSEGV && info.si_code == SI_KERNEL)  // of an address that no machine has it gives none
    std::snprintf(text, bytes, "expected a program that keeps to its memory, but it went to no address (%s)%s", name,
                  kWayOut);
  else if (signal == SIGSEGV || signal == SIGBUS)
    std::snprintf(text, bytes, "expected a program that keeps to its memory, but it went to the address 0x%llx (%s)%s",
                  static_cast<unsigned long long>(address), name, kWayOut);
  else
    std::snprintf(text, bytes, "expected instructions that the machine can run, but got one that it refused (%s)%s", name,
                  kWayOut);
  return text;
}

void handle(int signal, siginfo_t *info, void *context) {
  const Place place = place_in(*static_cast<const ucontext_t *>(context));
  const auto end = reinterpret_cast<EndBySignal>(pthread_getspecific(end_here));
  if (end && info->si_code > 0 && may_leave(place.instruction)) {
    char text[400];
    end(reason(signal, *info, place.stack, text, sizeof text));
  }
  // Not of a program: it comes again, and goes to who had it before.
  for (std::size_t at = 0; at < kSignalCount; ++at)
    if (kSignals[at] == signal) sigaction(signal, &before[at], nullptr);
  if (info->si_code <= 0) raise(signal);
}

// A stack for handlers: where the stack of a thread overflows there is no other.
class HandlerStack {
 public:
  HandlerStack() {
    stack_t there;
    if (sigaltstack(nullptr, &there) != 0 || !(there.ss_flags & SS_DISABLE)) return;
    memory_ = std::malloc(kStackBytes);
    if (memory_) set(0);
  }
  ~HandlerStack() {
    stack_t there;
    if (!memory_) return;
    if (sigaltstack(nullptr, &there) == 0 && there.ss_sp == memory_) set(SS_DISABLE);
    std::free(memory_);
  }
  HandlerStack(const HandlerStack &) = delete;
  HandlerStack &operator=(const HandlerStack &) = delete;

 private:
  void set(int flags) {
    stack_t stack;
    std::memset(&stack, 0, sizeof stack);
    stack.ss_sp = memory_;
    stack.ss_size = kStackBytes;
    stack.ss_flags = flags;
    sigaltstack(&stack, nullptr);
  }
  void *memory_ = nullptr;
};

}  // namespace

ProgramSignals::ProgramSignals(EndBySignal end) {
  static const int failed = pthread_key_create(&end_here, nullptr);
  if (failed) std::abort();  // a process has a thousand
  static thread_local HandlerStack stack;
  outer_ = reinterpret_cast<EndBySignal>(pthread_getspecific(end_here));
  {
    const std::lock_guard<std::mutex> lock(installing);
    if (installed++ == 0) {
      struct sigaction action;
      std::memset(&action, 0, sizeof action);
      action.sa_sigaction = &handle;
      sigemptyset(&action.sa_mask);
      // The handler does not return from what it ends: the signal must not stay blocked.
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
      for (std::size_t at = 0; at < kSignalCount; ++at) sigaction(kSignals[at], &action, &before[at]);
    }
  }
  pthread_setspecific(end_here, reinterpret_cast<void *>(end));
}

ProgramSignals::~ProgramSignals() {
  pthread_setspecific(end_here, reinterpret_cast<void *>(outer_));
  const std::lock_guard<std::mutex> lock(installing);
  if (--installed != 0) return;
  for (std::size_t at = 0; at < kSignalCount; ++at) {
    struct sigaction now;
    // Another library may have put its own there meanwhile.
    if (sigaction(kSignals[at], nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &handle)
      sigaction(kSignals[at], &before[at], nullptr);
  }
}

}  // namespace mlir_sparse

#else

namespace mlir_sparse {

ProgramSignals::ProgramSignals(EndBySignal) {}
ProgramSignals::~ProgramSignals() { (void)outer_; }

}  // namespace mlir_sparse

#endif
