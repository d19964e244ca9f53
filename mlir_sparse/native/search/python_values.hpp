// Sets and numbers by variable to Python and back: a set is a number with a bit for each member.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

#include "entry_set.hpp"

namespace mlir_sparse::search {

// pybind11 keeps a shared pointer to each object; none of these is changed through it.
template <typename Type>
std::shared_ptr<Type> for_python(const std::shared_ptr<const Type> &value) {
  return std::const_pointer_cast<Type>(value);
}

Bits bits_from(const pybind11::handle &value);
pybind11::int_ int_of(const Bits &bits);
int variable_from(const pybind11::handle &bit);
std::vector<int> variables_from(const pybind11::handle &bits);
pybind11::tuple tuple_of(const std::vector<int> &variables);
ByVariable numbers_from(const pybind11::handle &numbers);
pybind11::dict dict_of(const ByVariable &numbers);
Relations relations_from(const pybind11::iterable &relations);
pybind11::list list_of(const Relations &relations);
// Above the bits of so many factors a set has those of the variables that are summed later.
Members members_from(const pybind11::handle &value, int factors);
pybind11::int_ int_of(const Members &members, int factors);

}  // namespace mlir_sparse::search
