// Calls of compiled kernels.
//
// A Launcher has the address of a compiled function and the types of its arguments. A call checks the arguments, builds
// the memref descriptors on the stack and jumps. For arguments that do not fit it returns None, and the caller in
// Python converts them or raises the error. So the path of a correct call is short.
//
// The calling convention is MLIR's C interface in packed form: one void* per argument that points to the argument's
// value, a memref's value being a pointer to its descriptor, and the result's storage first.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "blas.hpp"
#include "few.hpp"
#include "join.hpp"
#include "memory.hpp"
#include "module.hpp"
#include "operand.hpp"
#include "short_method.hpp"
#include "chunks.hpp"
#include "take.hpp"
#include "threads.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

// The subscript of a dimension: a sum of coefficient * variable, plus a constant.
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
  std::vector<py::dtype> buffers;  // of a sparse result: its buffers, those of a workspace, the control
  ResultLevels levels{0, false, {}, {}, {}};
};

// What a call needs to know of a sparse result that is small: the lengths of its buffers, for one more entry than there
// may be, those of the workspace after them, the words of the control, and an estimate of the points to compute.
struct SmallResult {
  std::vector<std::int64_t> lengths, workspace, control;
  std::int64_t points;
};

constexpr std::int64_t kUnknown = -1;

// Results of more bytes are allocated in Python, which checks the memory available first.
constexpr std::int64_t kLarge = std::int64_t{1} << 26;

// Calls on fewer entries keep the GIL, where no axis, operand or result has more elements than the second number: others
// wait no longer for it than a call takes that gives it up.
constexpr std::int64_t kShort = 1 << 10, kSmall = 1 << 14;

// The least number of elements, below other rows, in a chunk.
constexpr std::size_t kStretch = 64;

// Lets Ctrl-C stop a call between chunks; it takes the GIL only now and then.
class Interrupts {
 public:
  void check() {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ < std::chrono::milliseconds(50)) return;
    asked_ = now;
    py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

// Makes the operand of a tensor that has none yet, or returns None, and the class of tensors; set by Python, and there
// as long as the process.
PyObject *operand_maker = nullptr;
PyTypeObject *tensor_class = nullptr;

py::object made(py::handle tensor) {
  PyObject *found = PyObject_CallOneArg(operand_maker, tensor.ptr());
  if (found) return py::reinterpret_steal<py::object>(found);
  PyErr_Clear();  // the caller in Python raises it again
  return py::none();
}

using Bounds = std::vector<std::pair<std::int64_t, std::int64_t>>;

// An array that somebody else keeps alive; null by default.
class ArrayView {
 public:
  ArrayView() = default;
  explicit ArrayView(py::handle array) : object_(array.ptr()) {}

  static bool is_array(py::handle value) { return Py_TYPE(value.ptr()) == py::detail::npy_api::get().PyArray_Type_; }

  std::size_t rank() const { return static_cast<std::size_t>(proxy()->nd); }
  std::int64_t shape(std::size_t dim) const { return proxy()->dimensions[dim]; }
  const py::ssize_t *begin() const { return proxy()->dimensions; }
  const py::ssize_t *end() const { return proxy()->dimensions + proxy()->nd; }
  std::int64_t size() const {
    std::int64_t found = 1;
    for (const py::ssize_t extent : *this) found *= extent;
    return found;
  }
  char *data() const { return proxy()->data; }
  std::int64_t item() const { return py::dtype(descriptor()).itemsize(); }
  char kind() const { return py::dtype(descriptor()).kind(); }
  Range range() const { return {data(), data() + size() * item()}; }
  // Whether elements are in C order and aligned.
  bool is_plain() const { return has(py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_); }
  bool writeable() const { return has(py::detail::npy_api::NPY_ARRAY_WRITEABLE_); }
  bool is_of(const py::object &dtype) const {
    return proxy()->descr == dtype.ptr() || py::handle(proxy()->descr).equal(dtype);
  }

 private:
  py::detail::PyArray_Proxy *proxy() const { return py::detail::array_proxy(object_); }
  py::object descriptor() const { return py::reinterpret_borrow<py::object>(proxy()->descr); }
  bool has(int wanted) const { return (proxy()->flags & wanted) == wanted; }

  PyObject *object_ = nullptr;
};

class Launcher {
 public:
  Launcher(std::uintptr_t address, std::vector<Parameter> parameters, Result result, int variables,
           std::optional<Partition> partition, py::object code)
      : code_(std::move(code)),
        function_(reinterpret_cast<Function>(address)),
        parameters_(std::move(parameters)),
        result_(std::move(result)),
        variables_(variables),
        partition_(std::move(partition)) {
    for (const Parameter &parameter : parameters_)
      words_ += parameter.sparse ? 0 : 4 + 2 * parameter.subscripts.size();
    if (!result_.sparse && (parameters_.empty() || parameters_.back().sparse))
      throw py::value_error("expected the last parameter of a kernel with a dense result to be the dense output");
  }

  // Returns the output, or None for arguments that do not fit.
  py::object operator()(const py::tuple &arguments, py::object out) {
    Bound bound(*this);
    return take_dense(arguments, out, bound) ? call_dense(bound, std::move(out)) : py::none();
  }

  // A call on the user's arguments; None also if loops exceed a tensor's bounds, so that arrays must be padded.
  py::object direct(const py::tuple &arguments, py::object out) {
    Bound bound(*this);
    const bool ready = take_dense(arguments, out, bound) && !padded(bound);
    return ready ? call_dense(bound, std::move(out)) : py::none();
  }

  // The operand of a tensor, which lives as long as the tensor; null for other objects.
  static const Operand *operand_of(py::handle argument) {
    const py::object held = held_by(argument);
    return held ? operand_in(held) : nullptr;
  }

  std::size_t operands() const { return parameters_.size() - (result_.sparse ? 0 : 1); }

  // The same; None also if the number of entries of some operand is not within its bounds.
  py::object direct_within(const py::tuple &arguments, py::object out, const Bounds &bounds) {
    Bound bound(*this);
    const bool ready = take_dense(arguments, out, bound) && !padded(bound) && has_sizes(bound, bounds);
    return ready ? call_dense(bound, std::move(out)) : py::none();
  }

  // Whether `direct` would call.
  bool accepts(const py::tuple &arguments, py::object out) {
    Bound bound(*this);
    return take_dense(arguments, out, bound) && !padded(bound);
  }

  // A call of a nest along diagonals. `lows` has, for each array that is indexed by diagonal plus row, the element at
  // the loops' index 0. Only rows near the edges use padded copies.
  py::object framed(const py::tuple &arguments, py::object out, const std::vector<std::pair<int, std::int64_t>> &lows) {
    Bound bound(*this);
    if (!is_along_diagonals() || !take_all(arguments, parameters_.size() - 1, bound)) return py::none();
    if (out.is_none()) {
      if (!allocate(bound.extents, out)) return py::none();
    }
    Operand *unused = nullptr;
    ArrayView &array = bound.arrays.back();
    if (!take(parameters_.back(), out, unused, array, bound)) return py::none();
    if (!array.writeable() || !bind(parameters_.back(), nullptr, array, bound.extents)) return py::none();
    if (overlaps(bound)) return py::none();
    const std::vector<Argument> views = arguments_of(bound);
    const std::optional<Diagonals> found = diagonals_of(bound, views, lows);
    if (!found) return py::none();
    std::size_t chunks = work_of(bound) < 2 * static_cast<std::int64_t>(chunk_work())
                             ? 1
                             : chunks_of(*partition_, work_of(bound), bound.arrays.back().size());
    if (chunk_work() > 1) chunks = std::min(chunks, static_cast<std::size_t>(found->end - found->begin) / kStretch);
    Interrupts interrupts;
    py::gil_scoped_release release;
    const auto goes_on = [&] { interrupts.check(); };
    const std::int64_t rows = bound.extents[static_cast<std::size_t>(partition_->variable)];
    call_edge(views, lows, *found, 0, found->begin, goes_on);
    std::vector<Argument> inside = views;
    for (const auto &[parameter, low] : lows) shift(inside[static_cast<std::size_t>(parameter)].array, low);
    if (found->begin < found->end)
      call_rows(function_, *partition_, inside, found->begin, found->end, chunks, goes_on);
    call_edge(views, lows, *found, found->end, rows, goes_on);
    return out;
  }

  // Whether a call with a sparse result takes the arguments.
  bool fits(const py::tuple &arguments) const {
    Bound bound(*this);
    return result_.sparse && take_all(arguments, parameters_.size(), bound) && within(bound);
  }

  // Fills the buffers of a sparse result; returns whether the arguments fit.
  bool fill(const py::tuple &arguments, const std::vector<py::array> &buffers) {
    Bound bound(*this);
    if (!result_.sparse || !take_all(arguments, parameters_.size(), bound) || !within(bound)) return false;
    if (buffers.size() != result_.buffers.size()) return false;
    std::vector<Descriptor1> descriptors;
    descriptors.reserve(buffers.size());
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      const py::array &buffer = buffers[b];
      if (buffer.ndim() != 1 || !(buffer.flags() & py::array::c_style)) return false;
      if (!buffer.dtype().equal(result_.buffers[b])) return false;
      void *data = const_cast<void *>(buffer.data());
      descriptors.push_back({data, data, 0, buffer.shape(0), 1});
    }
    call_sparse(bound, descriptors);
    return true;
  }

  // The buffers of a sparse result that is small, trimmed, those of its structure read-only. None for arguments that do
  // not fit, for a call that is worth several chunks, and where there are more entries than expected.
  py::object filled(const py::tuple &arguments, const SmallResult &small) {
    Bound bound(*this);
    if (!result_.sparse || !take_all(arguments, parameters_.size(), bound) || !within(bound)) return py::none();
    if (partition_ && chunks_of(*partition_, work_of(bound), small.points) > 1) return py::none();
    const std::size_t count = small.lengths.size(), rank = static_cast<std::size_t>(result_.levels.rank());
    if (count + small.workspace.size() + 1 != result_.buffers.size() || small.control.size() != 3 * rank + 3)
      return py::none();
    std::vector<Block> blocks;
    std::vector<Descriptor1> descriptors;
    const auto add = [&](std::int64_t length, bool zeroed) {
      blocks.emplace_back(static_cast<std::size_t>(length * result_.levels.items[blocks.size()]), zeroed);
      descriptors.push_back({blocks.back().data(), blocks.back().data(), 0, length, 1});
    };
    const auto &positions = result_.levels.positions;
    for (std::size_t b = 0; b < count; ++b)  // rows that the loops skip must be empty
      add(small.lengths[b], std::find(positions.begin(), positions.end(), static_cast<int>(b)) != positions.end());
    for (const std::int64_t length : small.workspace) add(length, true);
    std::vector<std::int64_t> control = small.control;
    descriptors.push_back({control.data(), control.data(), 0, static_cast<std::int64_t>(control.size()), 1});
    call_sparse(bound, descriptors);
    const auto depth = static_cast<std::size_t>(result_.levels.depth);
    std::vector<std::int64_t> counts(control.begin(), control.begin() + static_cast<std::ptrdiff_t>(depth));
    for (std::size_t level = depth; level < rank; ++level) {
      counts.push_back(control[2 * rank + level]);
      if (counts.back() > control[level]) return py::none();
    }
    py::list found;
    for (std::size_t b = 0; b < count; ++b) {
      const std::size_t length = b + 1 < count ? length_of(b, counts) : static_cast<std::size_t>(counts.back());
      found.append(array_of(std::move(blocks[b]), length, result_.buffers[b], b + 1 == count));
    }
    return std::move(found);
  }

  // The number of chunks that a sparse result is worth, given an estimate of the points to compute; 1 means `fill`.
  std::size_t chunks(const py::tuple &arguments, std::int64_t points) const {
    Bound bound(*this);
    if (!partition_ || !result_.sparse || !take_all(arguments, parameters_.size(), bound) || !within(bound)) return 1;
    return chunks_of(*partition_, work_of(bound), points);
  }

  // Fills the buffers of a sparse result in chunks, with a capacity for each level, and the same in front if `both`.
  // Returns the numbers of entries, and of unused places in front of them, or None for arguments that do not fit.
  py::object join(const py::tuple &arguments, std::size_t chunks, const std::vector<py::array> &buffers,
                  std::vector<std::int64_t> capacities, bool both, std::vector<std::int64_t> sizes,
                  std::vector<std::int64_t> workspace, std::int64_t limit) const {
    if (!partition_ || !result_.sparse) return py::none();
    Bound bound(*this);
    if (!take_all(arguments, parameters_.size(), bound) || !within(bound)) return py::none();
    if (buffers.size() + workspace.size() + 1 != result_.buffers.size()) return py::none();
    const std::vector<Argument> views = arguments_of(bound);
    std::vector<void *> data;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
      if (!buffers[b].dtype().equal(result_.buffers[b]) || !buffers[b].writeable()) return py::none();
      data.push_back(const_cast<void *>(buffers[b].data()));
    }
    const JoinedCall call{function_,
                          *partition_,
                          views,
                          bound.extents[static_cast<std::size_t>(partition_->variable)],
                          result_.levels,
                          std::move(data),
                          std::move(capacities),
                          both,
                          std::move(sizes),
                          std::move(workspace),
                          limit};
    Interrupts interrupts;
    Joined joined;
    {
      py::gil_scoped_release release;
      joined = join_chunks(call, chunks, [&] { interrupts.check(); });
    }
    return py::make_tuple(joined.counts, joined.begins);
  }

 private:
  // The arguments of one call.
  struct Bound {
    explicit Bound(const Launcher &launcher)
        : extents(static_cast<std::size_t>(launcher.variables_), kUnknown),
          operands(launcher.parameters_.size(), nullptr),
          arrays(launcher.parameters_.size()) {}
    Bound(const Bound &) = delete;
    Bound &operator=(const Bound &) = delete;
    ~Bound() {
      for (PyObject *object : kept) Py_DECREF(object);
    }
    // Keeps an attribute of a tensor, or an array made of a number, alive until the end of the call.
    void keep(py::object object) { kept.push_back(object.release().ptr()); }

    Few<std::int64_t, 8> extents;
    Few<Operand *, 8> operands;
    Few<ArrayView, 8> arrays;
    Few<PyObject *, 8> kept;
  };

  // The descriptors of dense arguments, and the addresses of all arguments.
  struct Packed {
    Few<std::int64_t, 32> words;
    Few<void *, 8> pointers;
    Few<void *, 32> addresses;
  };

  // The least and the greatest diagonal, and the rows on which all diagonals are inside the arrays.
  struct Diagonals {
    std::int64_t least, greatest, begin, end;
  };

  // Calls a function whose result is the buffers with these descriptors.
  void call_sparse(const Bound &bound, std::vector<Descriptor1> &descriptors) const {
    Packed packed;
    pack(bound, packed);
    std::vector<Descriptor1 *> addresses;
    for (Descriptor1 &descriptor : descriptors) addresses.push_back(&descriptor);
    for (Descriptor1 *&address : addresses) packed.addresses.push_back(&address);
    py::gil_scoped_release release;
    function_(packed.addresses.data());
    end_stores();
  }

  // The length of a buffer of positions or coordinates, given the number of entries in each level.
  std::size_t length_of(std::size_t buffer, const std::vector<std::int64_t> &counts) const {
    const ResultLevels &levels = result_.levels;
    for (std::size_t level = 0; level < counts.size(); ++level) {
      if (levels.positions[level] == static_cast<int>(buffer))
        return static_cast<std::size_t>((level ? counts[level - 1] : 1) + 1);
      if (levels.coordinates[level] == static_cast<int>(buffer))
        return static_cast<std::size_t>(counts[level] * levels.interleaved(level));
    }
    return 0;
  }

  bool is_along_diagonals() const {
    if (!partition_ || result_.sparse || partition_->compressed || partition_->outcome != Partition::kApart)
      return false;
    return partition_->stored.size() == 1 && partition_->stored.front().level == 1;
  }

  // The first level of the operand stores diagonals: one buffer of positions, one of coordinates.
  std::optional<Diagonals> diagonals_of(const Bound &bound, const std::vector<Argument> &arguments,
                                        const std::vector<std::pair<int, std::int64_t>> &lows) const {
    const StoredPart &part = partition_->stored.front();
    const Storage &storage = arguments[static_cast<std::size_t>(part.parameter)].storage;
    const std::int64_t first = storage.at(0, 0), last = storage.at(0, 1);
    if (first >= last) return std::nullopt;
    Diagonals found{storage.at(1, first), storage.at(1, first), 0, bound.extents[static_cast<std::size_t>(partition_->variable)]};
    for (std::int64_t p = first; p < last; ++p) {
      found.least = std::min(found.least, storage.at(1, p));
      found.greatest = std::max(found.greatest, storage.at(1, p));
    }
    std::size_t sums = 0;
    for (const Parameter &parameter : parameters_)
      for (const Subscript &subscript : parameter.subscripts) sums += subscript.is_variable() ? 0 : 1;
    if (sums != lows.size()) return std::nullopt;
    for (const auto &[number, low] : lows) {
      const auto p = static_cast<std::size_t>(number);
      const Subscript &subscript = parameters_[p].subscripts.front();
      const bool is_sum = subscript.terms.size() == 2 && subscript.terms[0].first == 1 &&
                          subscript.terms[1].first == 1 && subscript.constant == 0;
      if (bound.operands[p] || subscript.is_variable() || !is_sum) return std::nullopt;
      found.begin = std::max(found.begin, -(found.least + low));
      found.end = std::min(found.end, arguments[p].array.shape.front() - (found.greatest + low));
    }
    if (found.begin >= found.end) found.begin = found.end = bound.extents[static_cast<std::size_t>(partition_->variable)];
    return found;
  }

  // Moves the first element of an array, to an address that may be outside of it.
  static void shift(Array &array, std::int64_t by) {
    const std::int64_t bytes = by * array.strides.front() * array.item;
    array.data = reinterpret_cast<char *>(reinterpret_cast<std::uintptr_t>(array.data) +
                                          static_cast<std::uintptr_t>(bytes));
  }

  // Calls the function for rows that exceed the arrays on some diagonal, with padded copies.
  void call_edge(const std::vector<Argument> &arguments, const std::vector<std::pair<int, std::int64_t>> &lows,
                 const Diagonals &found, std::int64_t begin, std::int64_t end,
                 const std::function<void()> &goes_on) const {
    if (begin >= end) return;
    std::vector<Argument> there = arguments;
    std::vector<std::vector<char>> owned;
    for (const auto &[parameter, low] : lows) {
      Array &array = there[static_cast<std::size_t>(parameter)].array;
      const std::int64_t row = array.strides.front() * array.item;
      const std::int64_t from = found.least + begin, width = found.greatest - found.least + end - begin;
      owned.emplace_back(static_cast<std::size_t>(width * row));
      const std::int64_t left = std::max<std::int64_t>(0, from + low);
      const std::int64_t right = std::min(array.shape.front(), from + low + width);
      if (left < right && row > 0)  // an array without a column has no address
        std::memcpy(owned.back().data() + (left - from - low) * row, array.data + left * row,
                    static_cast<std::size_t>((right - left) * row));
      array.data = owned.back().data();
      shift(array, -from);
    }
    call_rows(function_, *partition_, there, begin, end, 1, goes_on);
  }

  bool take_all(const py::tuple &arguments, std::size_t count, Bound &bound) const {
    if (arguments.size() != count) return false;
    for (std::size_t p = 0; p < count; ++p) {
      py::handle argument = PyTuple_GET_ITEM(arguments.ptr(), static_cast<py::ssize_t>(p));
      if (!take(parameters_[p], argument, bound.operands[p], bound.arrays[p], bound)) return false;
      if (!bind(parameters_[p], bound.operands[p], bound.arrays[p], bound.extents)) return false;
    }
    return true;
  }

  // Binds the operands and the dense result, which is allocated if there is none; returns whether all fit.
  bool take_dense(const py::tuple &arguments, py::object &out, Bound &bound) const {
    if (result_.sparse || !take_all(arguments, parameters_.size() - 1, bound)) return false;
    if (out.is_none() && !allocate(bound.extents, out)) return false;
    if (!ArrayView::is_array(out)) return false;  // writing to a number would be lost
    Operand *unused = nullptr;
    ArrayView &array = bound.arrays.back();
    if (!take(parameters_.back(), out, unused, array, bound)) return false;
    if (!array.writeable() || !bind(parameters_.back(), nullptr, array, bound.extents)) return false;
    return !overlaps(bound) && within(bound);
  }

  static bool has_sizes(const Bound &bound, const Bounds &bounds) {
    for (std::size_t p = 0; p < bounds.size(); ++p) {
      const Operand *operand = bound.operands[p];
      const std::int64_t entries = operand ? operand->entries() : bound.arrays[p].size();
      if (entries < bounds[p].first || entries > bounds[p].second) return false;
    }
    return true;
  }

  static bool padded(const Bound &bound) {
    return std::any_of(bound.operands.begin(), bound.operands.end(),
                       [](const Operand *operand) { return operand && operand->padded(); });
  }

  // The attribute of a tensor that holds its operand, which is made where there is none yet; null for other objects.
  static py::object held_by(py::handle argument) {
    static PyObject *name = PyUnicode_InternFromString("_operand");
    if (tensor_class == nullptr || !PyType_IsSubtype(Py_TYPE(argument.ptr()), tensor_class)) return {};
    py::object held = py::reinterpret_steal<py::object>(PyObject_GetAttr(argument.ptr(), name));
    if (!held) PyErr_Clear();
    if (held && held.is_none() && operand_maker) held = made(argument);
    static const PyObject *operand_class = py::type::of<Operand>().ptr();
    return held && reinterpret_cast<PyObject *>(Py_TYPE(held.ptr())) == operand_class ? held : py::object();
  }

  // The value of an object of the class Operand.
  static Operand *operand_in(const py::object &held) {
    auto *instance = reinterpret_cast<py::detail::instance *>(held.ptr());
    return static_cast<Operand *>(instance->get_value_and_holder().value_ptr());
  }

  static bool take(const Parameter &parameter, py::handle argument, Operand *&operand, ArrayView &array, Bound &bound) {
    if (parameter.sparse) {
      py::object held = held_by(argument);
      if (!held) return false;
      operand = operand_in(held);
      bound.keep(std::move(held));
      return operand->type_id() == parameter.type_id;
    }
    // Subclasses of arrays may mean more than their memory, as masked arrays do: leave them to Python.
    if (ArrayView::is_array(argument)) {
      array = ArrayView(argument);
    } else if (parameter.subscripts.empty()) {  // a number of NumPy's or Python's own
      py::array number = py::array::ensure(argument);
      if (!number) return false;
      array = ArrayView(number);
      bound.keep(std::move(number));
    } else {
      return false;
    }
    return array.is_plain() && array.is_of(parameter.dtype);
  }

  static std::size_t rank_of(const Operand *operand, const ArrayView &array) {
    return operand ? operand->shape().size() : array.rank();
  }
  static std::int64_t size_of(const Operand *operand, const ArrayView &array, std::size_t dim) {
    return operand ? operand->shape()[dim] : array.shape(dim);
  }

  // Gives each index variable its extent, or checks the one it has.
  static bool bind(const Parameter &parameter, const Operand *operand, const ArrayView &array,
                   Few<std::int64_t, 8> &extents) {
    if (rank_of(operand, array) != parameter.subscripts.size()) return false;
    for (std::size_t d = 0; d < parameter.subscripts.size(); ++d) {
      const Subscript &subscript = parameter.subscripts[d];
      if (!subscript.is_variable()) continue;
      std::int64_t &extent = extents[static_cast<std::size_t>(subscript.terms[0].second)];
      const std::int64_t size = size_of(operand, array, d);
      if (extent == kUnknown) extent = size;
      if (extent != size) return false;
    }
    return true;
  }

  // Checks that subscripts that are sums stay inside their dimension.
  bool within(const Bound &bound) const {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      for (std::size_t d = 0; d < parameters_[p].subscripts.size(); ++d) {
        const Subscript &subscript = parameters_[p].subscripts[d];
        if (subscript.is_variable()) continue;
        if (!inside(subscript, size_of(bound.operands[p], bound.arrays[p], d), bound.extents)) return false;
      }
    }
    return true;
  }

  static bool inside(const Subscript &subscript, std::int64_t size, const Few<std::int64_t, 8> &extents) {
    __int128 low = subscript.constant, high = subscript.constant;
    for (const auto &[coefficient, variable] : subscript.terms) {
      const std::int64_t extent = extents[static_cast<std::size_t>(variable)];
      if (extent == kUnknown) return false;
      if (extent == 0) return true;  // the loop over this variable never runs
      (coefficient > 0 ? high : low) += static_cast<__int128>(coefficient) * (extent - 1);
    }
    return low >= 0 && high < size;
  }

  bool allocate(const Few<std::int64_t, 8> &extents, py::object &out) const {
    std::vector<py::ssize_t> shape;
    const auto dtype = py::reinterpret_borrow<py::dtype>(parameters_.back().dtype);
    std::int64_t bytes = dtype.itemsize();
    for (const Subscript &subscript : parameters_.back().subscripts) {
      const std::int64_t extent = subscript.is_variable() ? extents[subscript.terms[0].second] : kUnknown;
      if (extent == kUnknown) return false;
      shape.push_back(static_cast<py::ssize_t>(extent));
      // Python checks whether it fits in memory, and has the message.
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes) || bytes > kLarge) return false;
    }
    out = dense_array(shape, dtype);
    return true;
  }

  static bool overlaps(const Bound &bound) {
    const Range out = bound.arrays.back().range();
    for (std::size_t p = 0; p + 1 < bound.arrays.size(); ++p) {
      if (const Operand *operand = bound.operands[p]) {
        for (const Range &range : operand->ranges())
          if (range.overlaps(out)) return true;
      } else if (bound.arrays[p].range().overlaps(out)) {
        return true;
      }
    }
    return false;
  }

  // Lays the arguments out; what is packed must live until the call returns.
  void pack(const Bound &bound, Packed &packed) const {
    packed.words.resize(words_ + 1);
    packed.pointers.resize(parameters_.size() + 1);
    std::size_t at = 0;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (bound.operands[p]) {
        bound.operands[p]->append_to(packed.addresses);
        continue;
      }
      const std::size_t rank = parameters_[p].subscripts.size();
      std::int64_t *descriptor = &packed.words[at];
      at += 4 + 2 * rank;
      const ArrayView &array = bound.arrays[p];
      descriptor[0] = descriptor[1] = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data()));
      descriptor[2] = 0;
      std::int64_t stride = 1;
      for (std::size_t d = rank; d-- > 0;) {
        descriptor[3 + d] = array.shape(d);
        descriptor[3 + rank + d] = stride;
        stride *= descriptor[3 + d];
      }
      packed.pointers[p] = descriptor;
      packed.addresses.push_back(&packed.pointers[p]);
    }
  }

  // An estimate of the entries that a call visits.
  std::int64_t work_of(const Bound &bound) const {
    const auto extent = [&](int variable) { return bound.extents[static_cast<std::size_t>(variable)]; };
    __int128 work = partition_->stored.empty() ? extent(partition_->variable) : 0;
    for (const StoredPart &part : partition_->stored)
      work += bound.operands[static_cast<std::size_t>(part.parameter)]->entries();
    for (const int variable : partition_->factors) work = std::min<__int128>(work * extent(variable), INT64_MAX);
    return static_cast<std::int64_t>(std::min<__int128>(work * partition_->weight, INT64_MAX));
  }

  std::vector<Argument> arguments_of(const Bound &bound) const {
    std::vector<Argument> found(parameters_.size());
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (bound.operands[p]) {
        found[p].storage = bound.operands[p]->storage();
        continue;
      }
      const ArrayView &array = bound.arrays[p];
      Array &view = found[p].array;
      view.data = array.data();
      view.item = array.item();
      view.shape.assign(array.begin(), array.end());
      view.strides.assign(view.shape.size(), 1);
      for (std::size_t d = view.shape.size(); d-- > 1;) view.strides[d - 1] = view.strides[d] * view.shape[d];
    }
    return found;
  }

  // Calls in chunks if that is worthwhile; returns whether it did.
  bool cut_dense(const Bound &bound, std::int64_t work) const {
    const ArrayView &result = bound.arrays.back();
    const bool fills = fills_past_caches(*partition_, static_cast<std::size_t>(result.size() * result.item()));
    if (work < 2 * static_cast<std::int64_t>(chunk_work()) && !fills) return false;
    std::size_t chunks = chunks_of(*partition_, work, result.size());
    // A chunk of a level below others is a part of each row above, which must be long enough.
    for (const StoredPart &part : partition_->stored)
      if (part.level > 0 && chunk_work() > 1)
        chunks = std::min(chunks, static_cast<std::size_t>(bound.extents[static_cast<std::size_t>(partition_->variable)]) / kStretch);
    if (chunks < 2 && !fills) return false;
    const std::vector<Argument> arguments = arguments_of(bound);
    Interrupts interrupts;
    py::gil_scoped_release release;
    call_in_chunks(function_, *partition_, arguments, bound.extents[static_cast<std::size_t>(partition_->variable)],
                   std::max<std::size_t>(chunks, 1), [&] { interrupts.check(); });
    return true;
  }

  // Whether a call is over at once. Work counts entries that chunks have, not rows without any, nor what loops inside of
  // theirs go through, nor the elements of the result, which are set first.
  static bool is_short(const Bound &bound, std::int64_t work) {
    if (work < 0 || work >= kShort) return false;
    for (const std::int64_t extent : bound.extents)
      if (extent >= kSmall) return false;
    for (std::size_t p = 0; p < bound.arrays.size(); ++p) {
      const Operand *operand = p < bound.operands.size() ? bound.operands[p] : nullptr;
      if ((operand ? operand->entries() : bound.arrays[p].size()) >= kSmall) return false;
    }
    return true;
  }

  py::object call_dense(const Bound &bound, py::object out) const {
    const std::int64_t work = partition_ ? work_of(bound) : kUnknown;
    if (partition_ && cut_dense(bound, work)) return out;
    Packed packed;
    // The function returns the descriptor of `out` again, which is not used.
    Few<std::int64_t, 16> ignored(4 + 2 * parameters_.back().subscripts.size());
    void *result = ignored.data();
    packed.addresses.push_back(&result);
    pack(bound, packed);
    if (is_short(bound, work)) {
      function_(packed.addresses.data());
    } else {
      py::gil_scoped_release release;
      function_(packed.addresses.data());
    }
    return out;
  }

  py::object code_;  // what the function is of: it is there as long as somebody may call
  Function function_;
  std::vector<Parameter> parameters_;
  Result result_;
  int variables_;
  std::optional<Partition> partition_;
  std::size_t words_ = 0;
};

// The arguments with some numbers among others.
py::tuple chosen(const std::vector<py::object> &values, const std::vector<std::size_t> &numbers) {
  py::tuple found(numbers.size());
  for (std::size_t p = 0; p < numbers.size(); ++p) found[p] = values[numbers[p]];
  return found;
}

std::vector<py::object> listed(const py::tuple &arguments) {
  std::vector<py::object> found;
  for (const py::handle argument : arguments) found.push_back(py::reinterpret_borrow<py::object>(argument));
  return found;
}

// A launcher for operands of the sizes that a plan was made for, in the order of the kernel's operands.
class SizedLauncher {
 public:
  SizedLauncher(py::object launcher, Bounds bounds, std::vector<std::size_t> order, std::size_t count)
      : object_(std::move(launcher)),
        launcher_(object_.cast<Launcher *>()),
        bounds_(std::move(bounds)),
        order_(std::move(order)),
        count_(count) {
    if (bounds_.size() > launcher_->operands())
      throw py::value_error("expected bounds for operands alone, one for each");
    for (const std::size_t number : order_)
      if (number >= count_) throw py::value_error("expected numbers of the kernel's operands");
  }

  // The same for operands with numbers of entries within bounds, one for each of the kernel's operands.
  SizedLauncher within(const Bounds &bounds) const {
    if (bounds.size() != (order_.empty() ? launcher_->operands() : count_))
      throw py::value_error("expected bounds for each operand");
    Bounds own = bounds;
    if (!order_.empty()) {
      own.clear();
      for (const std::size_t number : order_) own.push_back(bounds[number]);
    }
    return {object_, std::move(own), order_, count_};
  }

  py::object direct(const py::tuple &arguments, py::object out) {
    if (order_.empty()) return launcher_->direct_within(arguments, std::move(out), bounds_);
    if (arguments.size() != count_) return py::none();
    return launcher_->direct_within(chosen(listed(arguments), order_), std::move(out), bounds_);
  }

 private:
  py::object object_;
  Launcher *launcher_;
  Bounds bounds_;
  std::vector<std::size_t> order_;  // the numbers of its operands among the kernel's; as they are if empty
  std::size_t count_;
};

// The rows of an array, its first operand, at places, its second.
struct RowsAt {
  // Writes them to the result; returns whether all places are rows. Other arrays are refused.
  static bool write(const py::object &source, const py::object &places, const py::object &result) {
    if (!ArrayView::is_array(source) || !ArrayView::is_array(places)) return false;
    const ArrayView from(source), at(places), to(result);
    if (!from.is_plain() || !at.is_plain() || from.rank() < 1 || at.kind() != 'i') return false;
    std::int64_t bytes = from.item();
    for (std::size_t axis = 1; axis < from.rank(); ++axis) bytes *= from.shape(axis);
    if (from.item() != to.item() || at.size() * bytes != to.size() * to.item()) return false;
    const Places taken{at.data(), at.size(), static_cast<int>(8 * at.item())};
    py::gil_scoped_release release;
    return take_rows(from.data(), from.shape(0), bytes, taken, to.data()) < 0;
  }
};

// A step of a program: a launcher, a product of two arrays by BLAS, rows at places, or a function of Python's that
// returns its result for a tuple of operands, or None; the numbers of its operands and of its result among the program's values, and the
// form of the result, if that is an array to be written.
struct ProgramStep {
  ProgramStep(py::object function, std::vector<std::size_t> numbers, std::size_t value, std::vector<py::ssize_t> extents,
       py::dtype type)
      : object(std::move(function)),
        launcher(py::isinstance<Launcher>(object) ? object.cast<Launcher *>() : nullptr),
        product(py::isinstance<BlasProduct>(object) ? object.cast<std::shared_ptr<BlasProduct>>() : nullptr),
        takes_rows(py::isinstance<RowsAt>(object)),
        operands(std::move(numbers)),
        result(value),
        shape(std::move(extents)),
        dtype(std::move(type)) {
    if ((product || takes_rows) && operands.size() != 2) throw py::value_error("expected two operands");
  }

  bool writes() const { return launcher || product || takes_rows; }

  py::object object;
  Launcher *launcher;
  std::shared_ptr<BlasProduct> product;
  bool takes_rows;
  std::vector<std::size_t> operands;
  std::size_t result;
  std::vector<py::ssize_t> shape;
  py::dtype dtype;
};

// What an operand of a program must be: an array of an element type, or a tensor of a type.
struct OperandForm {
  std::vector<std::int64_t> shape;
  py::object dtype;      // none for a tensor
  std::int64_t type_id;  // of a tensor
};

// A program of steps for operands of given shapes. Its values are the operands, then the results of its steps; the last
// step gives the program's result.
class ProgramLauncher {
 public:
  ProgramLauncher(std::vector<ProgramStep> steps, std::vector<OperandForm> forms, std::size_t values)
      : steps_(std::move(steps)), forms_(std::move(forms)), values_(values) {
    if (steps_.empty()) throw py::value_error("expected a step or more");
    std::vector<bool> known(values_, false);
    std::fill_n(known.begin(), std::min(forms_.size(), values_), true);
    for (const ProgramStep &step : steps_) {
      for (const std::size_t number : step.operands)
        if (number >= values_ || !known[number]) throw py::value_error("expected values that were computed before");
      if (step.result < forms_.size() || step.result >= values_)
        throw py::value_error("expected the number of a value that is no operand");
      known[step.result] = true;
    }
  }

  // The same for operands with numbers of entries within bounds; those of arrays follow from their shapes.
  ProgramLauncher within(Bounds bounds) const {
    if (bounds.size() != forms_.size()) throw py::value_error("expected bounds for each operand");
    ProgramLauncher found = *this;
    found.bounds_ = std::move(bounds);
    return found;
  }

  // The result, or None for operands that do not fit, before anything is written.
  py::object direct(const py::tuple &arguments, py::object out) {
    if (arguments.size() != forms_.size()) return py::none();
    if (!out.is_none() && !may_take(out)) return py::none();
    std::vector<py::object> values = listed(arguments);
    for (std::size_t p = 0; p < values.size(); ++p)
      if (!fits(values[p], p, out)) return py::none();
    values.resize(values_);
    values[steps_.back().result] = out.is_none() ? py::object() : std::move(out);
    OnOneThread blas;
    for (const ProgramStep &step : steps_) {
      py::object &result = values[step.result];
      if (!step.writes()) {
        blas.end();
        result = step.object(chosen(values, step.operands));
        if (result.is_none()) return py::none();
        continue;
      }
      if (!result) result = dense_array(step.shape, step.dtype);
      if (step.product) {
        if (!multiply(*step.product, values[step.operands[0]], values[step.operands[1]], result, blas))
          return py::none();
        continue;
      }
      blas.end();
      if (step.takes_rows) {
        // Python finds the place that is no row, and has the message.
        if (!RowsAt::write(values[step.operands[0]], values[step.operands[1]], result)) return py::none();
        continue;
      }
      if (step.launcher->direct(chosen(values, step.operands), result).is_none()) return py::none();
    }
    return values[steps_.back().result];
  }

 private:
  // Writes a product; returns whether the arrays have its sizes.
  static bool multiply(const BlasProduct &product, const py::object &left, const py::object &right,
                       const py::object &result, OnOneThread &blas) {
    if (!ArrayView::is_array(left) || !ArrayView::is_array(right)) return false;
    const auto one = py::reinterpret_borrow<py::array>(left), other = py::reinterpret_borrow<py::array>(right);
    auto made = py::reinterpret_borrow<py::array>(result);
    if (one.nbytes() != product.left_bytes() || other.nbytes() != product.right_bytes() ||
        made.nbytes() != product.result_bytes())
      return false;
    void *data = made.mutable_data();
    blas.begin(product.threads());
    py::gil_scoped_release release;
    product.run(one.data(), other.data(), data);
    return true;
  }

  template <typename Shape>
  static bool has(const ArrayView &array, const Shape &shape, const py::object &dtype) {
    return std::equal(shape.begin(), shape.end(), array.begin(), array.end()) && array.is_plain() && array.is_of(dtype);
  }

  // Whether an operand has its form, a number of entries within its bounds, and no memory of the result's.
  bool fits(const py::object &argument, std::size_t number, const py::object &out) const {
    const OperandForm &form = forms_[number];
    if (!form.dtype.is_none()) {
      if (!ArrayView::is_array(argument)) return form.shape.empty();  // a number, or nothing that a launcher takes
      const ArrayView array(argument);
      return has(array, form.shape, form.dtype) && (out.is_none() || !array.range().overlaps(ArrayView(out).range()));
    }
    const Operand *operand = Launcher::operand_of(argument);
    if (!operand || operand->type_id() != form.type_id || operand->padded() || operand->shape() != form.shape)
      return false;
    if (!bounds_.empty()) {
      const auto &[low, high] = bounds_[number];
      if (operand->entries() < low || operand->entries() > high) return false;
    }
    if (out.is_none()) return true;
    const Range range = ArrayView(out).range();
    return std::none_of(operand->ranges().begin(), operand->ranges().end(),
                        [&](const Range &one) { return one.overlaps(range); });
  }

  bool may_take(const py::object &out) const {
    if (!ArrayView::is_array(out) || !steps_.back().writes()) return false;
    const ArrayView array(out);
    return array.writeable() && has(array, steps_.back().shape, steps_.back().dtype);
  }

  std::vector<ProgramStep> steps_;
  std::vector<OperandForm> forms_;
  std::size_t values_;
  Bounds bounds_;
};

}  // namespace

void register_launch(py::module_ &module) {
  register_partition(module);
  register_threads(module);
  py::class_<Operand>(module, "Operand", "The level storage of one tensor as compiled code takes it.")
      .def(py::init<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<py::array>, bool>(),
           py::arg("type_id"), py::arg("shape"), py::arg("level_sizes"), py::arg("buffers"), py::arg("padded") = false)
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
      .def_static("dense", [] { return Result{false, {}, {0, false, {}, {}, {}}}; })
      .def_static(
          "sparse",
          [](std::vector<py::dtype> buffers, int depth, bool compressed, std::vector<int> positions,
             std::vector<int> coordinates) {
            ResultLevels levels{depth, compressed, std::move(positions), std::move(coordinates), {}};
            for (const py::dtype &buffer : buffers) levels.items.push_back(buffer.itemsize());
            return Result{true, std::move(buffers), std::move(levels)};
          },
          py::arg("buffers"), py::arg("depth"), py::arg("listed"), py::arg("positions"), py::arg("coordinates"));

  py::class_<SmallResult>(module, "SmallResult", "What a call needs to know of a sparse result that is small.")
      .def(py::init([](std::vector<std::int64_t> lengths, std::vector<std::int64_t> workspace,
                       std::vector<std::int64_t> control, std::int64_t points) {
             return SmallResult{std::move(lengths), std::move(workspace), std::move(control), points};
           }),
           py::arg("lengths"), py::arg("workspace"), py::arg("control"), py::arg("points"));
  py::class_<Launcher> launcher(module, "Launcher", "A compiled kernel at an address, and what its arguments must be.");
  define_short<Launcher, &Launcher::direct>(launcher, "direct");
  launcher
      .def(py::init<std::uintptr_t, std::vector<Parameter>, Result, int, std::optional<Partition>, py::object>(),
           py::arg("address"), py::arg("parameters"), py::arg("result"), py::arg("variables"),
           py::arg("partition") = py::none(), py::arg("code") = py::none())
      .def("__call__", &Launcher::operator(), py::arg("arguments"), py::arg("out") = py::none())
      .def("accepts", &Launcher::accepts, py::arg("arguments"), py::arg("out"))
      .def("fits", &Launcher::fits, py::arg("arguments"))
      .def("framed", &Launcher::framed, py::arg("arguments"), py::arg("out"), py::arg("lows"))
      .def("pieces", &Launcher::chunks, py::arg("arguments"), py::arg("points"))
      .def("join", &Launcher::join, py::arg("arguments"), py::arg("pieces"), py::arg("buffers"), py::arg("rooms"),
           py::arg("both"), py::arg("sizes"), py::arg("workspace"), py::arg("limit"))
      .def("filled", &Launcher::filled, py::arg("arguments"), py::arg("small"))
      .def("fill", &Launcher::fill, py::arg("arguments"), py::arg("buffers"));

  py::class_<SizedLauncher> sized(module, "SizedLauncher", "A launcher for operands with numbers of entries within bounds.");
  define_short<SizedLauncher, &SizedLauncher::direct>(sized, "direct");
  sized
      .def(py::init<py::object, Bounds, std::vector<std::size_t>, std::size_t>(), py::arg("launcher"),
           py::arg("bounds") = Bounds(), py::arg("order") = std::vector<std::size_t>(), py::arg("count") = 0)
      .def("within", &SizedLauncher::within, py::arg("bounds"));

  py::class_<RowsAt>(module, "RowsAt", "The rows of an array at places, as a step of a program.").def(py::init<>());
  py::class_<ProgramStep>(module, "ProgramStep", "What a program calls, and where its operands and its result are among the program's values.")
      .def(py::init<py::object, std::vector<std::size_t>, std::size_t, std::vector<py::ssize_t>, py::dtype>(),
           py::arg("function"), py::arg("operands"), py::arg("result"), py::arg("shape"), py::arg("dtype"));
  py::class_<OperandForm>(module, "OperandForm", "What an operand of a program must be.")
      .def(py::init([](std::vector<std::int64_t> shape, py::object dtype, std::int64_t type_id) {
             return OperandForm{std::move(shape), std::move(dtype), type_id};
           }),
           py::arg("shape"), py::arg("dtype") = py::none(), py::arg("type_id") = 0);
  py::class_<ProgramLauncher> program(module, "ProgramLauncher", "Launchers one after the other, for operands of given shapes.");
  define_short<ProgramLauncher, &ProgramLauncher::direct>(program, "direct");
  program
      .def(py::init<std::vector<ProgramStep>, std::vector<OperandForm>, std::size_t>(), py::arg("steps"), py::arg("forms"),
           py::arg("values"))
      .def("within", &ProgramLauncher::within, py::arg("bounds"));
  module.def(
      "make_operands_by",
      [](const py::object &maker, const py::type &tensors) {
        operand_maker = maker.inc_ref().ptr();
        tensor_class = reinterpret_cast<PyTypeObject *>(tensors.inc_ref().ptr());
      },
      py::arg("maker"), py::arg("tensors"),
      "Sets the class of tensors, and the function that makes a tensor's operand where it has none yet, or returns None.");
}

}  // namespace mlir_sparse
