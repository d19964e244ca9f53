// Calls of compiled kernels.
//
// A Launcher holds the address of a compiled function and what its arguments must be; a call checks them, builds the
// memref descriptors on the stack and jumps. Whatever it does not recognise it leaves alone and says so by returning
// None: the caller in Python then converts the arguments or raises the error. So no check is made in one place only,
// and the path of a correct call is short.
//
// The calling convention is MLIR's C interface in packed form: one void* per argument that points to the argument's
// value, a memref's value being a pointer to its descriptor, and the result's storage first.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "memory.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

using Packed = void (*)(void **);

// The bytes an array covers, for overlap checks; contiguous arrays only.
struct Range {
  const char *begin;
  const char *end;
  bool overlaps(const Range &other) const { return begin < other.end && other.begin < end; }
};

Range range_of(const py::array &array) {
  const char *data = static_cast<const char *>(array.data());
  return {data, data + array.nbytes()};
}

// {allocated, aligned, offset, size, stride} of a memref of rank 1.
struct Descriptor1 {
  void *allocated;
  void *aligned;
  std::int64_t offset;
  std::int64_t size;
  std::int64_t stride;
};

// The level storage of one tensor in the form that compiled code takes: built once a tensor, shared by all calls.
class Operand {
 public:
  Operand(std::int64_t type_id, std::vector<std::int64_t> shape, std::vector<std::int64_t> level_sizes,
          std::vector<py::array> buffers)
      : type_id_(type_id), shape_(std::move(shape)), specifier_(std::move(level_sizes)), buffers_(std::move(buffers)) {
    descriptors_.reserve(buffers_.size());
    for (const py::array &buffer : buffers_) {
      if (buffer.ndim() != 1 || !(buffer.flags() & py::array::c_style))
        throw py::value_error("expected contiguous buffers of rank 1");
      void *data = const_cast<void *>(buffer.data());
      const std::int64_t size = buffer.shape(0);
      descriptors_.push_back({data, data, 0, size, 1});
      specifier_.push_back(size);
      ranges_.push_back(range_of(buffer));
    }
    for (Descriptor1 &descriptor : descriptors_) pointers_.push_back(&descriptor);
  }
  Operand(const Operand &) = delete;
  Operand &operator=(const Operand &) = delete;

  std::int64_t type_id() const { return type_id_; }
  const std::vector<std::int64_t> &shape() const { return shape_; }
  const std::vector<Range> &ranges() const { return ranges_; }

  void append_to(std::vector<void *> &packed) {
    for (Descriptor1 *&pointer : pointers_) packed.push_back(&pointer);
    packed.push_back(specifier_.data());
  }

 private:
  std::int64_t type_id_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> specifier_;  // level sizes, then the used length of every buffer
  std::vector<py::array> buffers_;
  std::vector<Descriptor1> descriptors_;
  std::vector<Descriptor1 *> pointers_;
  std::vector<Range> ranges_;
};

// How one dimension of a tensor follows from index variables: sum of coefficient * variable, plus a constant.
struct Subscript {
  std::vector<std::pair<std::int64_t, int>> terms;
  std::int64_t constant = 0;
  bool is_variable() const { return terms.size() == 1 && terms[0].first == 1 && constant == 0; }
};

struct Parameter {
  bool sparse;
  std::int64_t type_id;  // of a sparse parameter
  py::object dtype;      // of a dense one
  std::vector<Subscript> subscripts;
};

struct Result {
  bool sparse;
  std::size_t level_rank;           // of a sparse result
  std::vector<py::dtype> buffers;   // of a sparse result, in the order of the convention
};

constexpr std::int64_t kUnknown = -1;

class Launcher {
 public:
  Launcher(std::uintptr_t address, std::vector<Parameter> parameters, Result result, int variables)
      : function_(reinterpret_cast<Packed>(address)),
        parameters_(std::move(parameters)),
        result_(std::move(result)),
        variables_(variables) {
    for (const Parameter &parameter : parameters_)
      words_ += parameter.sparse ? 0 : 4 + 2 * parameter.subscripts.size();
    if (!result_.sparse && (parameters_.empty() || parameters_.back().sparse))
      throw py::value_error("expected the last parameter of a kernel with a dense result to be the dense output");
  }

  // Returns the output, or None where an argument is not as it must be.
  py::object operator()(const py::tuple &arguments, py::object out) {
    const std::size_t count = parameters_.size() - (result_.sparse ? 0 : 1);
    if (arguments.size() != count || (result_.sparse && !out.is_none())) return py::none();

    std::vector<std::int64_t> extents(variables_, kUnknown);
    std::vector<Operand *> operands(parameters_.size(), nullptr);
    // Null until taken: a default py::array is a new NumPy array.
    std::vector<py::array> arrays(parameters_.size(), py::reinterpret_steal<py::array>(py::handle()));
    // Attributes of tensors are read through `keep`, which holds what they return until the call is over.
    std::vector<py::object> keep;
    for (std::size_t p = 0; p < count; ++p) {
      py::handle argument = PyTuple_GET_ITEM(arguments.ptr(), static_cast<py::ssize_t>(p));
      if (!take(parameters_[p], argument, operands[p], arrays[p], keep)) return py::none();
      if (!bind(parameters_[p], operands[p], arrays[p], extents)) return py::none();
    }
    if (!result_.sparse) {
      if (out.is_none()) {
        if (!allocate(extents, out)) return py::none();
      }
      Operand *unused = nullptr;
      if (!take(parameters_.back(), out, unused, arrays.back(), keep)) return py::none();
      if (!arrays.back().writeable() || !bind(parameters_.back(), nullptr, arrays.back(), extents)) return py::none();
      if (overlaps(operands, arrays)) return py::none();
    }
    if (!within(operands, arrays, extents)) return py::none();
    return result_.sparse ? call_sparse(operands, arrays) : call_dense(operands, arrays, std::move(out));
  }

 private:
  static bool take(const Parameter &parameter, py::handle argument, Operand *&operand, py::array &array,
                   std::vector<py::object> &keep) {
    if (parameter.sparse) {
      static PyObject *name = PyUnicode_InternFromString("_operand");
      py::object held = py::reinterpret_steal<py::object>(PyObject_GetAttr(argument.ptr(), name));
      if (!held) {
        PyErr_Clear();
        return false;
      }
      if (!py::isinstance<Operand>(held)) return false;
      operand = held.cast<Operand *>();
      keep.push_back(std::move(held));
      return operand->type_id() == parameter.type_id;
    }
    if (!py::isinstance<py::array>(argument)) return false;
    array = py::reinterpret_borrow<py::array>(argument);
    constexpr int wanted = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    if ((array.flags() & wanted) != wanted) return false;
    const py::dtype dtype = array.dtype();
    return dtype.is(parameter.dtype) || dtype.equal(parameter.dtype);
  }

  static std::size_t rank_of(const Operand *operand, const py::array &array) {
    return operand ? operand->shape().size() : static_cast<std::size_t>(array.ndim());
  }
  static std::int64_t size_of(const Operand *operand, const py::array &array, std::size_t dim) {
    return operand ? operand->shape()[dim] : array.shape(static_cast<py::ssize_t>(dim));
  }

  // Gives each index variable its extent, or checks the one it has.
  static bool bind(const Parameter &parameter, const Operand *operand, const py::array &array,
                   std::vector<std::int64_t> &extents) {
    if (rank_of(operand, array) != parameter.subscripts.size()) return false;
    for (std::size_t d = 0; d < parameter.subscripts.size(); ++d) {
      const Subscript &subscript = parameter.subscripts[d];
      if (!subscript.is_variable()) continue;
      std::int64_t &extent = extents[subscript.terms[0].second];
      const std::int64_t size = size_of(operand, array, d);
      if (extent == kUnknown) extent = size;
      if (extent != size) return false;
    }
    return true;
  }

  // Checks that subscripts which are no plain variable stay inside their dimension.
  bool within(const std::vector<Operand *> &operands, const std::vector<py::array> &arrays,
              const std::vector<std::int64_t> &extents) const {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      for (std::size_t d = 0; d < parameters_[p].subscripts.size(); ++d) {
        const Subscript &subscript = parameters_[p].subscripts[d];
        if (subscript.is_variable()) continue;
        if (!inside(subscript, size_of(operands[p], arrays[p], d), extents)) return false;
      }
    }
    return true;
  }

  static bool inside(const Subscript &subscript, std::int64_t size, const std::vector<std::int64_t> &extents) {
    __int128 low = subscript.constant, high = subscript.constant;
    for (const auto &[coefficient, variable] : subscript.terms) {
      const std::int64_t extent = extents[variable];
      if (extent == kUnknown) return false;
      if (extent == 0) return true;  // the loop over this variable never runs
      (coefficient > 0 ? high : low) += static_cast<__int128>(coefficient) * (extent - 1);
    }
    return low >= 0 && high < size;
  }

  bool allocate(const std::vector<std::int64_t> &extents, py::object &out) const {
    std::vector<py::ssize_t> shape;
    for (const Subscript &subscript : parameters_.back().subscripts) {
      const std::int64_t extent = subscript.is_variable() ? extents[subscript.terms[0].second] : kUnknown;
      if (extent == kUnknown) return false;
      shape.push_back(static_cast<py::ssize_t>(extent));
    }
    out = py::array(py::reinterpret_borrow<py::dtype>(parameters_.back().dtype), shape);
    return true;
  }

  static bool overlaps(const std::vector<Operand *> &operands, const std::vector<py::array> &arrays) {
    const Range out = range_of(arrays.back());
    for (std::size_t p = 0; p + 1 < arrays.size(); ++p) {
      if (operands[p]) {
        for (const Range &range : operands[p]->ranges())
          if (range.overlaps(out)) return true;
      } else if (range_of(arrays[p]).overlaps(out)) {
        return true;
      }
    }
    return false;
  }

  // Lays the arguments out; `words` and `pointers` hold the dense descriptors and must live until the call returns.
  void pack(const std::vector<Operand *> &operands, const std::vector<py::array> &arrays,
            std::vector<std::int64_t> &words, std::vector<void *> &pointers, std::vector<void *> &packed) const {
    words.resize(words_ + 1);
    pointers.resize(parameters_.size() + 1);
    std::size_t at = 0;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (operands[p]) {
        operands[p]->append_to(packed);
        continue;
      }
      const std::size_t rank = parameters_[p].subscripts.size();
      std::int64_t *descriptor = &words[at];
      at += 4 + 2 * rank;
      const std::int64_t data = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(arrays[p].data()));
      descriptor[0] = descriptor[1] = data;
      descriptor[2] = 0;
      std::int64_t stride = 1;
      for (std::size_t d = rank; d-- > 0;) {
        descriptor[3 + d] = arrays[p].shape(static_cast<py::ssize_t>(d));
        descriptor[3 + rank + d] = stride;
        stride *= descriptor[3 + d];
      }
      pointers[p] = descriptor;
      packed.push_back(&pointers[p]);
    }
  }

  py::object call_dense(const std::vector<Operand *> &operands, const std::vector<py::array> &arrays,
                        py::object out) const {
    std::vector<std::int64_t> words;
    std::vector<void *> pointers, packed;
    // The function returns the descriptor of `out` once more; nobody needs it.
    std::vector<std::int64_t> ignored(4 + 2 * parameters_.back().subscripts.size());
    void *result = ignored.data();
    packed.push_back(&result);
    pack(operands, arrays, words, pointers, packed);
    {
      py::gil_scoped_release release;
      function_(packed.data());
    }
    return out;
  }

  // Returns (level sizes, buffers); the buffers own their memory.
  py::object call_sparse(const std::vector<Operand *> &operands, const std::vector<py::array> &arrays) const {
    const std::size_t count = result_.buffers.size();
    std::vector<std::int64_t> storage(count * 5 + result_.level_rank + count);
    std::vector<std::int64_t> words;
    std::vector<void *> pointers, packed;
    void *result = storage.data();
    packed.push_back(&result);
    pack(operands, arrays, words, pointers, packed);
    {
      py::gil_scoped_release release;
      function_(packed.data());
    }
    const std::int64_t *sizes = storage.data() + count * 5;
    const std::int64_t *used = sizes + result_.level_rank;
    py::tuple level_sizes(result_.level_rank), buffers(count);
    for (std::size_t l = 0; l < result_.level_rank; ++l) level_sizes[l] = py::int_(sizes[l]);
    for (std::size_t b = 0; b < count; ++b) {
      Descriptor1 descriptor;
      std::memcpy(&descriptor, storage.data() + b * 5, sizeof descriptor);
      char *data = static_cast<char *>(descriptor.aligned) + descriptor.offset * result_.buffers[b].itemsize();
      buffers[b] = adopt(descriptor.allocated, data, static_cast<std::size_t>(descriptor.size),
                         static_cast<std::size_t>(used[b]), result_.buffers[b]);
    }
    return py::make_tuple(level_sizes, buffers);
  }

  Packed function_;
  std::vector<Parameter> parameters_;
  Result result_;
  int variables_;
  std::size_t words_ = 0;
};

}  // namespace

void register_launch(py::module_ &module) {
  py::class_<Operand>(module, "Operand", "The level storage of one tensor as compiled code takes it.")
      .def(py::init<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<py::array>>(),
           py::arg("type_id"), py::arg("shape"), py::arg("level_sizes"), py::arg("buffers"))
      .def_property_readonly("type_id", &Operand::type_id)
      .def_property_readonly("shape", &Operand::shape);

  using Terms = std::vector<std::pair<std::int64_t, int>>;
  py::class_<Subscript>(module, "Subscript", "One dimension of a tensor as an affine form of index variables.")
      .def(py::init([](Terms terms, std::int64_t constant) {
             return Subscript{std::move(terms), constant};
           }),
           py::arg("terms"), py::arg("constant") = 0);

  py::class_<Parameter>(module, "Parameter", "What one argument of a kernel must be.")
      .def_static(
          "sparse",
          [](std::int64_t type_id, std::vector<Subscript> subscripts) {
            return Parameter{true, type_id, py::none(), std::move(subscripts)};
          },
          py::arg("type_id"), py::arg("subscripts"))
      .def_static(
          "dense",
          [](py::dtype dtype, std::vector<Subscript> subscripts) {
            return Parameter{false, 0, std::move(dtype), std::move(subscripts)};
          },
          py::arg("dtype"), py::arg("subscripts"));

  py::class_<Result>(module, "Result", "What a kernel returns.")
      .def_static("dense", [] { return Result{false, 0, {}}; })
      .def_static(
          "sparse",
          [](std::size_t level_rank, std::vector<py::dtype> buffers) {
            return Result{true, level_rank, std::move(buffers)};
          },
          py::arg("level_rank"), py::arg("buffers"));

  py::class_<Launcher>(module, "Launcher", "A compiled kernel at an address, and what its arguments must be.")
      .def(py::init<std::uintptr_t, std::vector<Parameter>, Result, int>(), py::arg("address"), py::arg("parameters"),
           py::arg("result"), py::arg("variables"))
      .def("__call__", &Launcher::operator(), py::arg("arguments"), py::arg("out") = py::none());
}

}  // namespace mlir_sparse
