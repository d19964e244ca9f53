// What steps take on this processor, to Python.

#include <pybind11/stl.h>

#include "fill.hpp"
#include "machine_steps.hpp"
#include "module.hpp"
#include "prefetch_distances.hpp"
#include "threads.hpp"

namespace py = pybind11;

namespace mlir_sparse {

void register_machine(py::module_ &module) {
  using release = py::call_guard<py::gil_scoped_release>;
  module.def("time_load", &machine_steps::latency, py::arg("bytes"), release(),
             "Returns the nanoseconds of a load at the address that the load before it read.");
  module.def("time_line", &machine_steps::read_line, py::arg("bytes"), release(),
             "Returns the nanoseconds of a line of an array that is read in order.");
  module.def("time_written_line", &machine_steps::written_line, py::arg("bytes"), py::kw_only(),
             py::arg("past_caches"), release(),
             "Returns the nanoseconds of a line of an array that is written, then read, in order.");
  module.def("time_page", &machine_steps::fresh_page, release(),
             "Returns the nanoseconds of the first touch of a page.");
  module.def("time_gather", &machine_steps::gathered, py::kw_only(), py::arg("vector"), release(),
             "Returns the nanoseconds of eight elements at places in no order.");
  module.def("time_scatter", &machine_steps::scattered, py::kw_only(), py::arg("vector"), release(),
             "Returns the nanoseconds of eight elements that are written at places in no order.");
  module.def("time_wrong_guess", &machine_steps::wrong_guess, release(),
             "Returns the nanoseconds of a branch that is not foreseen.");
  module.def("time_hand_over", &machine_steps::handed_over, py::kw_only(), py::arg("sleeps"), release(),
             "Returns the nanoseconds of a call on two threads.");
  module.def("time_entries", &machine_steps::summed_entries, py::arg("entries"), py::arg("distances"), release(),
             "Returns the nanoseconds of an entry of rows that are summed up, for each prefetch distance.");
  module.def("time_named_elements", &machine_steps::named_elements, py::arg("distances"), release(),
             "Returns the nanoseconds of an entry that names an element, for each prefetch distance.");
  module.def("time_named_lines", &machine_steps::named_lines, py::arg("distances"), release(),
             "Returns the nanoseconds of a line of rows that entries name, for each prefetch distance.");
  module.def("set_machine_work", &set_machine_work, py::arg("chunk"), py::arg("joined_chunk"),
             "Sets what work is worth a chunk, and one whose result is copied, where no setting says so.");
  module.def("set_machine_watch", &set_machine_watch, py::arg("microseconds"),
             "Sets for how long a thread spins for work before it sleeps.");
  module.def("set_machine_distances", &set_machine_distances, py::arg("gathers"), py::arg("rows"),
             "Sets how many entries ahead native loops ask for elements and for rows that entries name.");
  module.def("set_machine_fill", &set_machine_fill, py::arg("bytes"),
             "Sets the bytes of results from which on these are filled past the caches.");
}

}  // namespace mlir_sparse
