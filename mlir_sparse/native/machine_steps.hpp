// What steps in memory, in vectors and between threads take on this processor, in nanoseconds.
//
// Each function runs its step some times and returns the least: a machine is late, and never early.
#pragma once

#include <cstddef>
#include <vector>

namespace mlir_sparse {
namespace machine_steps {

// A load from an array of so many bytes whose address is what the load before it read.
double latency(std::size_t bytes);

// A line of an array of so many bytes that is read from one end to the other.
double read_line(std::size_t bytes);

// A line of an array of so many bytes that is written from one end to the other and then read, by stores past the
// caches or others.
double written_line(std::size_t bytes, bool past_caches);

// A page that the process has not touched.
double fresh_page();

// Eight elements of an array in the second-level cache at places in no order, by a vector instruction or one by one;
// the latter too where the processor has no such instruction.
double gathered(bool vector);
double scattered(bool vector);

// A branch that is guessed wrong.
double wrong_guess();

// A call of the pool for two threads that do nothing: of a thread that watches for work, or one that sleeps.
double handed_over(bool sleeps);

// An entry of a matrix of so many that rows of five are summed up of, times elements of a vector in the caches, for each
// distance: entries that come so many places later are asked for.
std::vector<double> summed_entries(std::size_t entries, const std::vector<std::size_t> &distances);

// An entry of rows of one to three, each of which names an element of an array in memory in no order, for each distance:
// elements of entries that come so many places later are asked for; of 0 none are.
std::vector<double> named_elements(const std::vector<std::size_t> &distances);

// A line of rows of 512 bytes that entries name in no order, in memory, for each distance: rows of entries that come so
// many places later are asked for; of 0 none are.
std::vector<double> named_lines(const std::vector<std::size_t> &distances);

}  // namespace machine_steps
}  // namespace mlir_sparse
