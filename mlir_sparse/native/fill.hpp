// Gives all elements of a dense result one value, before chunks add to them.

#pragma once

#include <cstddef>
#include <string>

namespace mlir_sparse {

// Whether an array of so many bytes is filled past the caches: nobody finds there what is written first.
bool exceeds_caches(std::size_t bytes);

// Sets the bytes from which on: a choice by the machine's profile.
void set_machine_fill(std::size_t bytes);

// Writes copies of an element from `begin` to `end`. Past the caches no line is read before it is written: half of the
// time, where memory is what it takes. The caller orders such stores before what other threads read.
void fill_with(void *result, const std::string &element, std::size_t begin, std::size_t end, bool past_caches = false);

}  // namespace mlir_sparse
