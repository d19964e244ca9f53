// What the steps of loops take on a machine: `mlir_sparse.machine.MachineTimes`, which says what each is.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace mlir_sparse::search {

struct MachineSteps {
  double walk, look_up, scatter, meet, enter, lane, append, insert, near_line, far_line, write, fresh_write, call,
      sparse_result, convert, function, lone_function, multiply_add, element, matrices, near, kept;
  std::vector<double> far_look_ups, far_scatters, far_enters, far_converts;
  double far_size;  // the first of the sizes that those are of, each four times the one before

  double look_up_in(double elements) const { return at_size(elements, look_up, far_look_ups); }
  double scatter_in(double elements) const { return at_size(elements, scatter, far_scatters); }
  double enter_in(double entries) const { return at_size(entries, enter, far_enters); }
  double convert_into(double slices) const { return at_size(slices, convert, far_converts); }

 private:
  // A time at a size, between those of the next smaller and larger size that were measured.
  double at_size(double size, double close, const std::vector<double> &far) const {
    if (size <= far_size / 4 || far.empty()) return close;
    const double steps = std::log(size / far_size) / std::log(4.0) + 1;
    const int last = static_cast<int>(far.size()) - 1;
    const int place = steps >= last ? last : static_cast<int>(std::max(0.0, steps));
    const double before = place == 0 ? close : far[place - 1];
    return before + std::min(1.0, steps - place) * (far[place] - before);
  }
};

}  // namespace mlir_sparse::search
