#include "block.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#define MLIR_SPARSE_MAPS 1
#endif

namespace mlir_sparse {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 21;
constexpr std::size_t kLine = 64;  // of a cache

std::size_t rounded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

#ifdef MLIR_SPARSE_MAPS

// Larger blocks are mapped: malloc may refuse more than the physical memory even if it stays untouched, and its pages
// of 4 KiB cost as much at their first touch as a thousand entries.
constexpr std::size_t kMapped = std::size_t{1} << 20;
// The bytes and blocks that are kept at most; more are freed at once.
constexpr std::size_t kMostKept = std::size_t{1} << 28;
constexpr std::size_t kKeptBlocks = 32;
// Up to this size a kept block is cleared for reuse; larger zeroed blocks are faster from the system.
constexpr std::size_t kCleared = std::size_t{1} << 23;
// Addresses cost nothing, but where there is a limit on them a process may run out: the most of a block that is kept.
constexpr std::size_t kFewAddresses = std::size_t{1} << 30, kManyAddresses = std::size_t{1} << 42;
// The most that all blocks have together; a process has 16 times as many. Past them, many are left to a block only that
// uses this part of them: a process has addresses for so many times its memory.
constexpr std::size_t kMostAddresses = std::size_t{1} << 43, kUsedPart = 256;

// Of all blocks, kept ones too.
std::atomic<std::size_t> mapped_addresses{0};

// Whether the system counts addresses that have no pages as memory, as it does without overcommitting it.
bool counts_addresses() {
#ifdef __linux__
  std::ifstream mode("/proc/sys/vm/overcommit_memory");
  return mode.get() == '2';
#else
  return true;
#endif
}

std::size_t most_addresses() {
  static const bool counted = counts_addresses();
  rlimit limit{};
  // A limit may be set at any time.
  return counted || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY ? kFewAddresses
                                                                                         : kManyAddresses;
}

// Gives addresses of a block back.
bool unmap(void *data, std::size_t bytes) {
  if (bytes == 0 || munmap(data, bytes) != 0) return false;
  mapped_addresses.fetch_sub(bytes, std::memory_order_relaxed);
  return true;
}

struct Kept {
  void *data;
  std::size_t bytes;       // addresses
  std::size_t begin, end;  // what has pages, at most
  Block::Pages pages;

  std::size_t used() const { return end - begin; }
};

class Store {
 public:
  // Takes the smallest block that is large enough, and not far too large; the last kept of several: what wrote to it is
  // most like what comes.
  bool take(std::size_t wanted, Block::Pages pages, Kept &found) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto best = blocks_.end();
    for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
      if (block->pages == pages && block->bytes >= wanted && block->bytes / 2 <= wanted &&
          (best == blocks_.end() || block->bytes <= best->bytes))
        best = block;
    if (best == blocks_.end()) return false;
    found = *best;
    forget(best);
    return true;
  }

  void keep(const Kept &block) {
    std::vector<Kept> dropped;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      blocks_.push_back(block);
      used_ += block.used();
      addresses_ += block.bytes;
      while (used_ > kMostKept || blocks_.size() > kKeptBlocks || addresses_ > kMostAddresses / 2) {
        dropped.push_back(blocks_.front());  // the oldest first
        forget(blocks_.begin());
      }
    }
    for (const Kept &old : dropped) unmap(old.data, old.bytes);
  }

  // Returns whether there was a block.
  bool drop() {
    std::lock_guard<std::mutex> lock(mutex_);
    const bool some = !blocks_.empty();
    for (const Kept &old : blocks_) unmap(old.data, old.bytes);
    blocks_.clear();
    used_ = addresses_ = 0;
    return some;
  }

  std::size_t used() {
    std::lock_guard<std::mutex> lock(mutex_);
    return used_;
  }

  std::mutex &mutex() { return mutex_; }

 private:
  void forget(std::vector<Kept>::iterator block) {
    used_ -= block->used();
    addresses_ -= block->bytes;
    blocks_.erase(block);
  }

  std::mutex mutex_;
  std::vector<Kept> blocks_;
  std::size_t used_ = 0, addresses_ = 0;
};

// Never freed: blocks may be released while the process ends.
Store &store() {
  static Store *the_store = [] {
    auto *made = new Store();
    // After a fork while another thread has the lock, the child could never take it.
    static Store *forked = made;
    pthread_atfork([] { forked->mutex().lock(); }, [] { forked->mutex().unlock(); },
                   [] { forked->mutex().unlock(); });
    return made;
  }();
  return *the_store;
}

// Returns addresses; kept blocks are given up where there are not enough.
void *addresses_of(std::size_t bytes) {
#ifdef MAP_NORESERVE
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#endif
  do {
    void *const found = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (found != MAP_FAILED) return found;
  } while (store().drop());
  throw std::bad_alloc();
}

void *map(std::size_t bytes, [[maybe_unused]] Block::Pages pages) {
  // Align the mapping to large pages, if the system has not.
  void *found = addresses_of(bytes);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(found) % kLargePage;
  if (beyond > 0 && munmap(found, bytes) == 0) {
    found = addresses_of(bytes + kLargePage);
    auto *start = static_cast<char *>(found);
    const std::size_t before = (kLargePage - reinterpret_cast<std::uintptr_t>(start) % kLargePage) % kLargePage;
    if (before > 0) munmap(start, before);
    if (before < kLargePage) munmap(start + before + bytes, kLargePage - before);
    found = start + before;
  }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Only advice: a failure does not matter.
  madvise(found, bytes, pages == Block::kLarge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#endif
  mapped_addresses.fetch_add(bytes, std::memory_order_relaxed);
  return found;
}

// Lets the system take the pages when it needs them; until then they can be reused without page faults.
bool offer(void *data, std::size_t begin, std::size_t end) {
#if defined(__linux__) && defined(MADV_FREE)
  return end <= begin || madvise(static_cast<char *>(data) + begin, end - begin, MADV_FREE) == 0;
#else
  (void)data, (void)begin, (void)end;
  return false;
#endif
}

#endif

// Returns memory for `free` that begins with a cache line: vectors astride two take twice as long to write.
void *on_lines(std::size_t bytes) {
#ifdef MLIR_SPARSE_MAPS
  void *found = nullptr;
  return posix_memalign(&found, kLine, bytes) == 0 ? found : nullptr;
#else
  return std::malloc(bytes);
#endif
}

}  // namespace

Block::Block(std::size_t wanted, bool zeroed, Pages pages)
    : bytes_(std::max<std::size_t>(wanted, 1)), pages_(pages) {
#ifdef MLIR_SPARSE_MAPS
  if (bytes_ >= kMapped) {
    Kept found{};
    const std::size_t addresses = rounded(bytes_, kLargePage);
    if ((zeroed && bytes_ > kCleared) || !store().take(addresses, pages, found)) {
      found = {map(addresses, pages), addresses, 0, 0, pages};
    } else if (zeroed) {
      std::memset(found.data, 0, bytes_);
    }
    data_ = found.data;
    bytes_ = found.bytes;
    begin_ = 0;  // as much as was wanted may get pages, and what has some keeps them
    end_ = std::max(addresses, found.end);
    mapped_ = true;
    // A block that `take` would not find again is not kept.
    keeps_ = addresses <= most_addresses() && !(zeroed && wanted > kCleared);
    return;
  }
#endif
  data_ = zeroed ? std::calloc(bytes_, 1) : on_lines(bytes_);
  if (data_ == nullptr) throw std::bad_alloc();
}

Block::~Block() {
  if (data_ == nullptr) return;
#ifdef MLIR_SPARSE_MAPS
  if (mapped_) {
    const Kept kept{data_, bytes_, begin_, end_, pages_};
    if (keeps_ && kept.used() <= kMostKept && offer(data_, begin_, end_))
      store().keep(kept);
    else
      unmap(data_, bytes_);
    return;
  }
#endif
  std::free(data_);
}

void Block::swap(Block &other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(mapped_, other.mapped_);
  std::swap(keeps_, other.keeps_);
  std::swap(pages_, other.pages_);
}

std::size_t Block::shrink(std::size_t begin, std::size_t end) {
#ifdef MLIR_SPARSE_MAPS
  if (mapped_) return shrink_mapped(begin, end);
#endif
  const std::size_t used = end - begin;
  // Keep up to as much again as is used: shrunk memory would not serve the next result of this size.
  if (bytes_ / 4 <= used + 4096) return begin;
  if (begin > 0) std::memmove(data_, data() + begin, used);
  if (void *smaller = std::realloc(data_, std::max<std::size_t>(used, 1))) {
    data_ = smaller;
    bytes_ = used;
  }
  return 0;
}

#ifdef MLIR_SPARSE_MAPS
std::size_t Block::shrink_mapped(std::size_t begin, std::size_t end) {
  if (end - begin < kMapped / 2) {  // a large page is too much for it
    Block small(end - begin, false);
    std::memcpy(small.data_, data() + begin, end - begin);
    swap(small);
    return 0;
  }
  const std::size_t first = begin / kLargePage * kLargePage, last = rounded(end, kLargePage);
  begin_ = first;
  const bool has_few_left = mapped_addresses.load(std::memory_order_relaxed) > kMostAddresses;
  if (bytes_ <= kFewAddresses ||
      (bytes_ <= most_addresses() && !(has_few_left && bytes_ / kUsedPart > last - first))) {
    // Pages beyond, touched by earlier users, may go back to the system.
    if (end_ > last) offer(data_, last, end_);
    if (first > 0) offer(data_, 0, first);
    end_ = last;
    return begin;
  }
  keeps_ = false;
  if (bytes_ == last || unmap(data() + last, bytes_ - last)) bytes_ = end_ = last;
  if (unmap(data_, first)) {
    data_ = data() + first;
    bytes_ -= first;
    begin_ = 0;
    end_ = bytes_;
    return begin - first;
  }
  return begin;
}
#endif

std::size_t kept_bytes() {
#ifdef MLIR_SPARSE_MAPS
  return store().used();
#else
  return 0;
#endif
}

void drop_kept() {
#ifdef MLIR_SPARSE_MAPS
  store().drop();
#endif
}

}  // namespace mlir_sparse
