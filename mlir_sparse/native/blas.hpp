// The BLAS that NumPy has: products of small matrices on one thread, and limits to its threads.
//
// Python finds the functions, as it has loaded the library. All members are called with the GIL, which is the lock of
// the limits: so a child of a fork finds them whole.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace mlir_sparse {

// The number of threads of a BLAS, which is one for the whole process. Calls that may take fewer lower it while any of
// them runs, for all threads, and restore it then.
class BlasThreads {
 public:
  // The addresses of functions that return the number, and that set it.
  BlasThreads(std::uintptr_t get, std::uintptr_t set);

  int get() const;
  void set(int threads) const;

  // Lets BLAS have at most so many threads until the same `end`, or fewer where another call wants that.
  void begin(int threads);
  void end(int threads);

  // Whether BLAS has one thread, and not for the time of another call only.
  bool is_one() const;

  // Forgets calls of threads that are not there any more, in the child of a fork, and ends what they wanted.
  void forget();

 private:
  int (*get_)();
  void (*set_)(int);
  std::vector<int> wanted_;
  int before_ = 0;
};

// Lets BLAS have one thread for a time, which may begin late and end early.
class OnOneThread {
 public:
  OnOneThread() = default;
  OnOneThread(const OnOneThread &) = delete;
  OnOneThread &operator=(const OnOneThread &) = delete;
  ~OnOneThread() { end(); }
  void begin(BlasThreads &threads);
  void end();

 private:
  BlasThreads *threads_ = nullptr;  // whose are limited
  bool asked_ = false;
};

// The functions of a CBLAS for one element type, by address, and whether their integers have 64 bits.
struct BlasFunctions {
  std::uintptr_t gemm, gemv, syrk;
  bool wide;
};

// A product of two matrices that are stored by rows, as they are or transposed, or of one and a vector.
class BlasProduct {
 public:
  enum class Element { kF32, kF64, kC64, kC128 };
  struct Sizes {
    std::int64_t rows, summed, columns;  // columns is 0 for a vector
    bool turns_left, turns_right;
    std::int64_t left_row = 0;  // elements from one row of the left operand to the next; 0 for those that it has
  };
  BlasProduct(std::shared_ptr<BlasThreads> threads, BlasFunctions functions, Element element, Sizes sizes);

  BlasThreads &threads() const { return *threads_; }

  // The bytes of the left operand, of the right one, and of the result.
  std::int64_t left_bytes() const { return sizes_.rows * sizes_.summed * item(); }
  std::int64_t right_bytes() const { return sizes_.summed * columns() * item(); }
  std::int64_t result_bytes() const { return sizes_.rows * columns() * item(); }

  // Writes the product: that of a matrix and a vector on as many threads as the call may take, each with elements of
  // its own, so that none of them waits for work in between. The GIL is not needed.
  void run(const void *left, const void *right, void *result) const;

 private:
  void run_part(std::int64_t begin, std::int64_t end, const void *left, const void *right, void *result) const;
  std::int64_t item() const;
  std::int64_t columns() const { return sizes_.columns ? sizes_.columns : 1; }

  std::shared_ptr<BlasThreads> threads_;
  BlasFunctions functions_;
  Element element_;
  Sizes sizes_;
};

}  // namespace mlir_sparse
