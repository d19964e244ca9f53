#include "python_values.hpp"

#include <stdexcept>
#include <string>

namespace mlir_sparse::search {

namespace py = pybind11;

namespace {

constexpr int kBytes = Bits::kMost / 8;

}  // namespace

Bits bits_from(const py::handle &value) {
  Bits found;
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (small == -1 && PyErr_Occurred()) throw py::error_already_set();
  if (overflow == 0 && small >= 0) {
    found.set_word(0, static_cast<std::uint64_t>(small));
    return found;
  }
  const std::string bytes = py::bytes(value.attr("to_bytes")(kBytes, "little"));
  for (int place = 0; place < kBytes; ++place)
    found.set_word(place / 8, found.word(place / 8) | static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[place]))
                                                          << 8 * (place % 8));
  return found;
}

py::int_ int_of(const Bits &bits) {
  if (!bits.word(1) && !bits.word(2) && !bits.word(3)) return py::int_(bits.word(0));
  std::string bytes(kBytes, '\0');
  for (int place = 0; place < kBytes; ++place)
    bytes[place] = static_cast<char>(bits.word(place / 8) >> 8 * (place % 8) & 0xff);
  return py::type::of(py::int_(0)).attr("from_bytes")(py::bytes(bytes), "little");
}

int variable_from(const py::handle &bit) {
  const Bits found = bits_from(bit);
  if (found.count() != 1) throw std::invalid_argument("expected the bit of one variable");
  return found.lowest();
}

std::vector<int> variables_from(const py::handle &bits) {
  std::vector<int> found;
  for (const py::handle &bit : bits) found.push_back(variable_from(bit));
  return found;
}

py::tuple tuple_of(const std::vector<int> &variables) {
  py::tuple found(variables.size());
  for (std::size_t place = 0; place < variables.size(); ++place) found[place] = int_of(Bits::one(variables[place]));
  return found;
}

ByVariable numbers_from(const py::handle &numbers) {
  ByVariable found;
  if (PyDict_CheckExact(numbers.ptr())) {
    for (const auto &[bit, number] : py::reinterpret_borrow<py::dict>(numbers))
      found.emplace_back(variable_from(bit), py::cast<double>(number));
    return found;
  }
  for (const py::handle &bit : numbers) found.emplace_back(variable_from(bit), py::cast<double>(numbers[bit]));
  return found;
}

py::dict dict_of(const ByVariable &numbers) {
  py::dict found;
  for (const auto &[variable, number] : numbers) found[int_of(Bits::one(variable))] = number;
  return found;
}

Relations relations_from(const py::iterable &relations) {
  Relations found;
  for (const py::handle &relation : relations) found.push_back(py::cast<std::shared_ptr<EntrySet>>(relation));
  return found;
}

py::list list_of(const Relations &relations) {
  py::list found;
  for (const Relation &relation : relations) found.append(for_python(relation));
  return found;
}

Members members_from(const py::handle &value, int factors) {
  const py::int_ whole = int_of(Bits::first(factors));
  const py::object number = py::reinterpret_borrow<py::object>(value);
  const Members found{bits_from(number & whole), bits_from(number >> py::int_(factors))};
  if (!found.factors) throw std::invalid_argument("expected a set of factors");
  return found;
}

py::int_ int_of(const Members &members, int factors) {
  const py::int_ found = int_of(members.factors);
  return members.late ? py::int_(found | (int_of(members.late) << py::int_(factors))) : found;
}

}  // namespace mlir_sparse::search
