// Partitions and limits of threads, from Python.

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "combine.hpp"
#include "module.hpp"
#include "partition.hpp"
#include "threads.hpp"

namespace py = pybind11;

namespace mlir_sparse {
namespace {

Step step_of(const std::pair<std::string, std::int64_t> &given) {
  const auto &[kind, value] = given;
  if (kind == "level") return {Step::kLevel, value};
  if (kind == "times") return {Step::kTimes, value};
  if (kind == "positions") return {Step::kPositions, value};
  if (kind == "segments") return {Step::kSegments, value};
  throw py::value_error("expected level, times, positions or segments, but got " + kind);
}

StoredPart stored_of(int parameter, bool compressed, std::int64_t block,
                     const std::vector<std::pair<std::string, std::int64_t>> &steps,
                     const std::vector<std::tuple<int, int, std::int64_t>> &shifts, std::int64_t stride, bool sorted,
                     int level) {
  StoredPart part{parameter, compressed, block, {}, {}, stride, sorted, level};
  for (const auto &step : steps) part.steps.push_back(step_of(step));
  for (const auto &[buffer, after, times] : shifts) part.shifts.push_back({buffer, after, times});
  return part;
}

Partition::Outcome outcome_of(const std::string &name) {
  if (name == "apart") return Partition::kApart;
  if (name == "added") return Partition::kAdded;
  if (name == "joined") return Partition::kJoined;
  throw py::value_error("expected apart, added or joined, but got " + name);
}

// What a thread's `with` statements had set before, the innermost last.
std::vector<Limits> &limits_before() {
  thread_local std::vector<Limits> before;
  return before;
}

void enter(const Limits &wanted) {
  limits_before().push_back(limits());
  if (wanted.threads > 0) limits().threads = wanted.threads;
  if (wanted.deterministic) limits().deterministic = true;
}

void leave() {
  limits() = limits_before().back();
  limits_before().pop_back();
}

}  // namespace

void register_partition(py::module_ &module) {
  py::class_<StoredPart>(module, "StoredPart", "How an operand in level storage is cut.")
      .def(py::init(&stored_of), py::arg("parameter"), py::arg("listed"), py::arg("block"), py::arg("steps"),
           py::arg("shifts"), py::arg("stride"), py::arg("sorted"), py::arg("level") = 0);
  py::class_<Partition>(module, "Partition", "Which parts of a call's arguments its pieces take.")
      .def(py::init([](int variable, std::int64_t unit, bool compressed, const std::string &outcome,
                       std::vector<int> factors, std::vector<StoredPart> stored,
                       const std::vector<std::tuple<int, int, std::int64_t, bool>> &axes, bool fills,
                       const py::bytes &identity, std::string combine, int reached, std::int64_t weight,
                       std::uintptr_t combining) {
             if (outcome == "added" && combining == 0 && combine_of(combine) == nullptr)
               throw py::value_error("expected an operator and an element type, but got " + combine);
             Partition partition{variable,           unit, compressed, outcome_of(outcome), std::move(factors),
                                 std::move(stored), {},   fills,  identity,            std::move(combine)};
             partition.combining = reinterpret_cast<void (*)(void **)>(combining);
             partition.reached = reached;
             partition.weight = weight;
             for (const auto &[parameter, dim, coefficient, plain] : axes)
               partition.axes.push_back({parameter, dim, coefficient, plain});
             return partition;
           }),
           py::arg("variable"), py::arg("unit"), py::arg("listed"), py::arg("outcome"), py::arg("factors"),
           py::arg("stored"), py::arg("axes"), py::arg("fills"), py::arg("identity"), py::arg("combine"), py::arg("reached") = -1,
           py::arg("weight") = 1, py::arg("combining") = 0);
}

void register_threads(py::module_ &module) {
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const SettingFault &fault) {
      try {
        py::module_::import("mlir_sparse.process.settings").attr("refuse")(fault.name);
        PyErr_Format(PyExc_ValueError, "%s was no number", fault.name);  // and is one by now
      } catch (py::error_already_set &error) {
        error.restore();
      }
    }
  });
  module.def(
      "is_set",
      [](const char *name) {
        const char *text = std::getenv(name);
        return text != nullptr && *text != '\0';
      },
      py::arg("name"), "Returns whether an environment variable has a value, in a tenth of the time of os.environ.");
  module.def("thread_limit", &thread_limit, "Returns how many threads a call of this thread may take.");
  module.def(
      "is_deterministic", [] { return limits().deterministic; },
      "Returns whether results of this thread's calls must not depend on the number of threads.");
  module.def("set_thread_limit", &set_thread_limit, py::arg("threads"),
             "Sets how many threads calls may take; 0 leaves it to the environment.");
  module.def("piece_work", &chunk_work, "Returns how many entries a piece meets at least.");
  module.def("set_piece_work", &set_chunk_work, py::arg("entries"),
             "Sets how many entries a piece meets at least; 0 leaves it to the environment.");
  module.def("pool_size", &pool_size, "Returns how many threads wait for pieces.");
  module.def(
      "combines", [](const std::string &name) { return combine_of(name) != nullptr; }, py::arg("name"),
      "Returns whether results of pieces can be combined, by operator and element type as in \"sum float64\".");
  py::class_<Limits>(module, "Limits", "What calls in a `with` statement may take.")
      .def(py::init([](std::size_t threads, bool deterministic) {
             return Limits{threads, deterministic};
           }),
           py::arg("threads") = 0, py::arg("deterministic") = false)
      .def("__enter__", &enter)
      .def("__exit__", [](const Limits &, const py::args &) { leave(); });
}

}  // namespace mlir_sparse
