// mlir_sparse._search: how products are computed at the least estimated time.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "entry_patterns.hpp"
#include "equal_products.hpp"
#include "nest_results.hpp"
#include "product_search.hpp"
#include "python_values.hpp"

namespace mlir_sparse::search {

namespace py = pybind11;
using namespace py::literals;

namespace {

// -- what factors are ---------------------------------------------------------------------------------------------

using SharedPattern = std::shared_ptr<EntryPattern>;
using SharedSet = std::shared_ptr<EntrySet>;

py::object source_of(const EntrySet &own) {
  if (!own.source) return py::none();
  return py::make_tuple(own.source->first, tuple_of(own.source->second));
}

std::optional<std::pair<std::string, std::vector<int>>> source_from(const py::object &source) {
  if (source.is_none()) return std::nullopt;
  return std::make_pair(py::cast<std::string>(source[py::int_(0)]), variables_from(source[py::int_(1)]));
}

std::optional<std::vector<int>> order_from(const py::object &order) {
  return order.is_none() ? std::nullopt : std::optional<std::vector<int>>(variables_from(order));
}

SharedSet make_set(const py::object &variables, double entries, bool sparse, const py::object &largest,
                   const py::object &squares, const py::object &order, std::optional<double> most, bool in_memory,
                   const SharedPattern &pattern, const py::object &source, std::vector<double> stored) {
  return std::make_shared<EntrySet>(EntrySet{bits_from(variables), entries, sparse, numbers_from(largest),
                                             numbers_from(squares), order_from(order), most, in_memory, pattern,
                                             source_from(source), std::move(stored)});
}

SharedSet replaced(const EntrySet &own, const py::kwargs &changes) {
  auto found = std::make_shared<EntrySet>(own);
  found->number = EntrySet::next_number();
  for (const auto &[key, value] : changes) {
    const std::string name = py::cast<std::string>(key);
    const py::object given = py::reinterpret_borrow<py::object>(value);
    if (name == "order") {
      found->order = order_from(given);
      found->stored.clear();  // which is of the levels before
    } else if (name == "in_memory")
      found->in_memory = py::cast<bool>(given);
    else if (name == "source")
      found->source = source_from(given);
    else if (name == "functions")
      found->functions = py::cast<std::pair<double, double>>(given);
    else
      throw py::type_error("expected order, in_memory, source or functions, but got " + name);
  }
  return found;
}

std::shared_ptr<Pattern> make_pattern(const py::object &offsets, double mirrored) {
  std::vector<std::pair<int, double>> shares;
  for (const py::handle &bits : offsets)
    shares.emplace_back(py::cast<int>(bits), py::cast<double>(offsets[bits]));
  const Offsets down(std::move(shares));
  return std::make_shared<Pattern>(Pattern{down, down.turned(), mirrored});
}

void register_sets(py::module_ &module) {
  py::class_<Pattern, std::shared_ptr<Pattern>>(module, "Pattern").def(py::init(&make_pattern), "offsets"_a, "mirrored"_a);
  py::class_<EntryPattern, SharedPattern>(module, "EntryPattern")
      .def(py::init([](std::string tensor, const py::object &first, const py::object &second, double entries,
                       double extent, const std::shared_ptr<Pattern> &pattern) {
             return std::make_shared<EntryPattern>(EntryPattern{std::move(tensor), variable_from(first),
                                                                variable_from(second), entries, extent, pattern});
           }),
           "tensor"_a, "first"_a, "second"_a, "entries"_a, "extent"_a, "pattern"_a);
  py::class_<EntrySet, SharedSet>(module, "EntrySet")
      .def(py::init(&make_set), "variables"_a, "entries"_a, "sparse"_a, "largest"_a, "squares"_a,
           "order"_a = py::none(), "most"_a = py::none(), "in_memory"_a = true, "pattern"_a = py::none(),
           "source"_a = py::none(), "stored"_a = std::vector<double>())
      .def_property_readonly("variables", [](const EntrySet &own) { return int_of(own.variables); })
      .def_readonly("entries", &EntrySet::entries)
      .def_readonly("sparse", &EntrySet::sparse)
      .def_readonly("number", &EntrySet::number)
      .def_property_readonly("largest", [](const EntrySet &own) { return dict_of(own.largest); })
      .def_property_readonly("squares", [](const EntrySet &own) { return dict_of(own.squares); })
      .def_property_readonly("order",
                             [](const EntrySet &own) -> py::object {
                               if (own.order) return tuple_of(*own.order);
                               return py::none();
                             })
      .def_readonly("most", &EntrySet::most)
      .def_readonly("in_memory", &EntrySet::in_memory)
      .def_property_readonly("source", &source_of)
      .def_property_readonly("at_most", &EntrySet::at_most)
      .def("over",
           [](const SharedSet &own, const py::object &variables, double often) {
             const Bits more = bits_from(variables);
             return more == own->variables ? own : std::make_shared<EntrySet>(own->over(more, often));
           })
      .def("at",
           [](const SharedSet &own, const py::object &from, const py::object &to) {
             const std::vector<int> before = variables_from(from), after = variables_from(to);
             return before == after ? own : std::make_shared<EntrySet>(own->at(before, after));
           })
      .def("replaced", &replaced);
  module.def("chance_together", &chance_together);
  module.def("chance_of_cycles", [](const std::vector<SharedPattern> &patterns) {
    const auto [often, closing] = chance_of_cycles({patterns.begin(), patterns.end()});
    py::tuple found(closing.size());
    for (std::size_t place = 0; place < closing.size(); ++place) found[place] = py::cast(for_python(closing[place]));
    return py::make_tuple(often, found);
  });
}

// -- estimates ----------------------------------------------------------------------------------------------------

void register_estimates(py::module_ &module) {
  py::class_<Estimates, std::shared_ptr<Estimates>>(module, "Estimates")
      .def(py::init<>())
      .def("add", [](Estimates &own, double extent) { return int_of(Bits::one(own.add(extent))); })
      .def("space", [](const Estimates &own, const py::object &variables) { return own.space(bits_from(variables)); })
      .def("join", [](Estimates &own, const py::iterable &relations) { return own.join(relations_from(relations)); })
      .def("meet", [](Estimates &own, const py::iterable &sparse) { return own.meet(relations_from(sparse)); });
  py::class_<PartRoom>(module, "PartRoom")
      .def(py::init<>())
      .def(py::init([](double most, double itemsize, double width) { return PartRoom{most, itemsize, width}; }),
           "most"_a, "itemsize"_a, "width"_a)
      .def("bytes_of", py::overload_cast<const EntrySet &, const Estimates &>(&PartRoom::bytes_of, py::const_))
      .def("expected_bytes_of", &PartRoom::expected_bytes_of)
      .def("fits", &PartRoom::fits);
  module.def("predecessors", [](const py::iterable &relations) -> py::object {
    const auto found = predecessors(relations_from(relations));
    if (!found) return py::none();
    py::dict outside;
    for (const auto &[variable, own] : found->outside) outside[int_of(Bits::one(variable))] = int_of(own);
    return outside;
  });
}

// -- nests --------------------------------------------------------------------------------------------------------

MachineSteps make_steps(const py::object &times, double far_size) {
  const auto number = [&](const char *name) { return py::cast<double>(times.attr(name)); };
  const auto numbers = [&](const char *name) { return py::cast<std::vector<double>>(times.attr(name)); };
  MachineSteps found;
  found.walk = number("walk");
  found.look_up = number("look_up");
  found.scatter = number("scatter");
  found.meet = number("meet");
  found.enter = number("enter");
  found.lane = number("lane");
  found.append = number("append");
  found.insert = number("insert");
  found.near_line = number("near_line");
  found.far_line = number("far_line");
  found.write = number("write");
  found.fresh_write = number("fresh_write");
  found.call = number("call");
  found.sparse_result = number("sparse_result");
  found.convert = number("convert");
  found.function = number("function");
  found.lone_function = number("lone_function");
  found.multiply_add = number("multiply_add");
  found.element = number("element");
  found.matrices = number("matrices");
  found.near = number("near");
  found.kept = number("kept");
  found.far_look_ups = numbers("far_look_ups");
  found.far_scatters = numbers("far_scatters");
  found.far_enters = numbers("far_enters");
  found.far_converts = numbers("far_converts");
  found.far_size = far_size;
  return found;
}

py::object loops_of(const std::optional<Loops> &loops) {
  if (!loops) return py::none();
  py::list found;
  for (const Loop &loop : *loops) found.append(loop);
  return py::tuple(found);
}

using SharedMask = std::shared_ptr<Mask>;

void register_nests(py::module_ &module) {
  py::class_<MachineSteps, std::shared_ptr<MachineSteps>>(module, "MachineSteps")
      .def(py::init(&make_steps), "times"_a, "far_size"_a);
  py::class_<CopiedOperand, std::shared_ptr<CopiedOperand>>(module, "CopiedOperand")
      .def_property_readonly("operand", [](const CopiedOperand &own) { return for_python(own.operand); })
      .def_property_readonly("copy", [](const CopiedOperand &own) { return for_python(own.copy); })
      .def_readonly("nanoseconds", &CopiedOperand::nanoseconds);
  py::class_<Mask, SharedMask>(module, "Mask")
      .def_property_readonly("relations", [](const Mask &own) { return list_of(own.relations()); })
      .def_property_readonly("result", [](Mask &own) { return for_python(own.result()); })
      .def_property_readonly("order", [](const Mask &own) {
        const auto order = own.order();
        return tuple_of({order.begin(), order.end()});
      });
  module.def("masks_of", [](const py::iterable &relations, const py::object &kept,
                            const std::shared_ptr<Estimates> &estimates) {
    return masks_of(relations_from(relations), bits_from(kept), estimates);
  });
  py::class_<NestTime>(module, "NestTime")
      .def(py::init([](double nanoseconds, double places, double entries, bool sparse, double most) {
        return NestTime{nanoseconds, places, entries, sparse, most};
      }))
      .def_readonly("nanoseconds", &NestTime::nanoseconds)
      .def_readonly("places", &NestTime::places)
      .def_readonly("entries", &NestTime::entries)
      .def_readonly("sparse", &NestTime::sparse)
      .def_readonly("most", &NestTime::most)
      .def_readonly("by_blas", &NestTime::by_blas)
      .def_readonly("masked", &NestTime::masked)
      .def_property_readonly("copied",
                             [](const NestTime &own) {
                               py::tuple found(own.copied.size());
                               for (std::size_t place = 0; place < own.copied.size(); ++place)
                                 found[place] = py::cast(for_python(own.copied[place]));
                               return found;
                             })
      .def("longer", [](const NestTime &own, double nanoseconds) {
        NestTime found = own;
        found.nanoseconds += nanoseconds;
        return found;
      });
  module.def("result_of", [](const py::iterable &operands, const py::object &kept, const NestTime &nest) {
    return for_python(result_of(relations_from(operands), bits_from(kept), nest));
  });
  py::class_<Loop>(module, "Loop")
      .def_property_readonly("inside", [](const Loop &own) { return int_of(own.inside); })
      .def_readonly("iterations", &Loop::iterations)
      .def_readonly("meeting", &Loop::meeting);
  py::class_<LoopNest>(module, "LoopNest")
      .def(py::init([](const py::iterable &relations, const py::object &result,
                       const std::shared_ptr<Estimates> &estimates, const std::shared_ptr<MachineSteps> &machine) {
             return LoopNest(relations_from(relations), bits_from(result), estimates, machine, false, -1, true);
           }),
           "relations"_a, "result"_a, "estimates"_a, "machine"_a)
      .def("time", &LoopNest::time)
      .def("loops", [](const LoopNest &own, double most) { return loops_of(own.loops(most)); });
  py::class_<NestTimes, std::shared_ptr<NestTimes>>(module, "NestTimes")
      .def(py::init([](const std::shared_ptr<Estimates> &estimates, const std::shared_ptr<MachineSteps> &machine,
                       bool has_blas, bool has_masks, bool has_workspaces) {
             return std::make_shared<NestTimes>(estimates, machine, has_blas, has_masks, has_workspaces);
           }),
           "estimates"_a, "machine"_a, "has_blas"_a, "has_masks"_a, "has_workspaces"_a)
      .def("allow_copies", &NestTimes::allow_copies)
      .def("set_last", [](NestTimes &own, const py::object &variables,
                          const py::object &last) { own.set_last(bits_from(variables), variable_from(last)); })
      .def("take_last_of", &NestTimes::take_last_of)
      .def(
          "exact",
          [](NestTimes &own, const py::iterable &relations, const py::object &kept, bool array) {
            const Relations operands = relations_from(relations);
            return own.exact(operands, bits_from(kept) & union_of(operands), array);
          },
          "relations"_a, "kept"_a, py::kw_only(), "array"_a = false)
      .def(
          "in_loops",
          [](NestTimes &own, const py::iterable &relations, const py::object &kept, bool array) {
            const Relations operands = relations_from(relations);
            return own.in_loops(operands, bits_from(kept) & union_of(operands), array);
          },
          "relations"_a, "kept"_a, py::kw_only(), "array"_a = false)
      .def("loop_order", [](const NestTimes &own, const py::iterable &relations,
                            const py::object &kept) { return tuple_of(own.loop_order(relations_from(relations), bits_from(kept))); })
      .def("of_mask", [](NestTimes &own, const SharedMask &mask) { return own.of_mask(*mask); })
      .def_property_readonly("has_blas", &NestTimes::has_blas)
      .def_property_readonly("has_workspaces", &NestTimes::has_workspaces)
      .def_readonly("nests_made", &NestTimes::nests_made)
      .def_property_readonly("nests_known", &NestTimes::nests_known)
      .def_readonly("masks_priced", &NestTimes::masks_priced)
      .def_readwrite("work", &NestTimes::work);
}

// -- searches -----------------------------------------------------------------------------------------------------

// Keys are asked of Python, for sets that may be equal alone.
class PythonKeys : public PartKeys {
 public:
  PythonKeys(int factors, py::object key, py::object is_made, py::object occurrence)
      : factors_(factors), key_(std::move(key)), is_made_(std::move(is_made)), occurrence_(std::move(occurrence)) {
    has_equal = !key_.is_none();
    may_be_made = !is_made_.is_none();
    has_occurrences = !occurrence_.is_none();
  }

  int number(const Members &part) override { return numbered(numbers_, key_of(part)); }
  bool is_made(const Members &part) override { return py::cast<bool>(is_made_(key_of(part))); }
  int occurrence(const Members &part) override { return numbered(occurrences_, occurrence_(int_of(part, factors_))); }
  void check() override {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

 private:
  py::object key_of(const Members &part) {
    const auto known = keys_.find(part);
    if (known != keys_.end()) return known->second;
    py::object found = key_(int_of(part, factors_));
    keys_.emplace(part, found);
    return found;
  }
  static int numbered(py::dict &numbers, const py::object &key) {
    return py::cast<int>(numbers.attr("setdefault")(key, numbers.size()));
  }

  int factors_;
  py::object key_, is_made_, occurrence_;
  py::dict numbers_, occurrences_;
  std::unordered_map<Members, py::object, BitsHash> keys_;
};

// The factors, the numbers and the variables of a product's key.
py::tuple make_key(NamedFactors product, const py::object &text) {
  const std::size_t factors = product.names.size(), variables = product.variables.size();
  if (product.own.size() != factors || product.symmetric.size() != factors || product.kept.size() != variables)
    throw std::invalid_argument("expected as many values as factors and variables");
  for (const auto &own : product.own)
    for (const int place : own)
      if (place < 0 || place >= static_cast<int>(variables)) throw std::invalid_argument("expected places of variables");
  if (!text.is_none())
    product.text = [&](int factor, const std::vector<int> &seen) { return py::cast<std::string>(text(factor, seen)); };
  const ProductKey key = key_of(product);
  py::tuple found(key.factors.size());
  for (std::size_t factor = 0; factor < key.factors.size(); ++factor) {
    const auto &[name, numbers] = key.factors[factor];
    py::tuple own(1 + numbers.size());
    own[0] = py::str(name);
    for (std::size_t place = 0; place < numbers.size(); ++place) own[1 + place] = py::int_(numbers[place]);
    found[factor] = own;
  }
  return py::make_tuple(found, py::tuple(py::cast(key.numbers)), key.places);
}

void register_keys(py::module_ &module) {
  module.def(
      "product_key",
      [](std::vector<std::string> names, std::vector<std::vector<int>> own, std::vector<std::string> variables,
         std::vector<bool> kept, std::vector<bool> symmetric, const py::object &text) {
        return make_key({std::move(names), std::move(own), std::move(variables), std::move(kept), std::move(symmetric), {}},
                        text);
      },
      "names"_a, "own"_a, "variables"_a, "kept"_a, "symmetric"_a, "text"_a);
}

// A way, and how many factors its sets are of.
struct PythonWay {
  WayPointer way;
  int factors;
};

std::shared_ptr<ProductSearch> make_search(const py::iterable &given, const py::object &kept,
                                           const std::shared_ptr<NestTimes> &nests, const py::object &key,
                                           const py::object &is_made, const py::object &occurrence,
                                           const std::vector<int> &names,
                                           const std::vector<std::vector<int>> &made_names, bool any_size,
                                           const PartRoom &room,
                                           const std::vector<double> &margins, bool has_arrays, bool into_array) {
  Relations relations = relations_from(given);
  if (margins.size() != 5) throw std::invalid_argument("expected five margins");
  if (!names.empty() && names.size() != relations.size()) throw std::invalid_argument("expected a name for each factor");
  auto keys = std::make_unique<PythonKeys>(static_cast<int>(relations.size()), key, is_made, occurrence);
  keys->names = names;
  keys->made_names = {made_names.begin(), made_names.end()};
  keys->any_size = any_size;
  const SearchMargins own{margins[0], margins[1], margins[2], margins[3], margins[4]};
  return std::make_shared<ProductSearch>(std::move(relations), bits_from(kept), nests, std::move(keys), room, own,
                                         has_arrays, into_array);
}

void register_searches(py::module_ &module) {
  py::class_<PythonWay>(module, "Way")
      .def_property_readonly("nanoseconds", [](const PythonWay &own) { return own.way->nanoseconds; })
      .def_property_readonly("result", [](const PythonWay &own) { return for_python(own.way->result); })
      .def_property_readonly("read", [](const PythonWay &own) { return int_of(own.way->read); })
      .def_property_readonly("made",
                             [](const PythonWay &own) {
                               py::tuple found(own.way->made.size());
                               for (std::size_t place = 0; place < own.way->made.size(); ++place)
                                 found[place] = int_of(own.way->made[place], own.factors);
                               return found;
                             })
      .def_property_readonly("by_blas", [](const PythonWay &own) { return own.way->by_blas; });
  py::class_<FactorSets, std::shared_ptr<FactorSets>>(module, "FactorSets")
      .def(py::init([](const py::iterable &relations, const py::object &kept) {
             return std::make_shared<FactorSets>(relations_from(relations), bits_from(kept));
           }),
           "relations"_a, "kept"_a)
      .def_property_readonly("whole", [](const FactorSets &own) { return int_of(own.whole(), own.count()); })
      .def_property_readonly("relations", [](const FactorSets &own) { return list_of(own.relations()); })
      .def("kept", [](FactorSets &own, const py::object &members) { return int_of(own.kept(members_from(members, own.count()))); })
      .def("keeping",
           [](FactorSets &own, const py::object &members, const py::object &late) {
             return int_of(own.keeping(members_from(members, own.count()), bits_from(late)), own.count());
           })
      .def("late",
           [](const FactorSets &own, const py::object &members) { return int_of(members_from(members, own.count()).late); })
      .def("is_read",
           [](FactorSets &own, const py::object &members) { return own.is_read(members_from(members, own.count())); });
  py::class_<ProductSearch, FactorSets, std::shared_ptr<ProductSearch>>(module, "ProductSearch")
      .def(py::init(&make_search), "relations"_a, "kept"_a, "nests"_a, "key"_a, "is_made"_a, "occurrence"_a, "names"_a,
           "made_names"_a, "any_size"_a, "room"_a, "margins"_a, "has_arrays"_a, "into_array"_a)
      .def("best",
           [](ProductSearch &own, const py::object &members) {
             return PythonWay{own.best(members_from(members, own.count())), own.count()};
           })
      .def("in_one_nest",
           [](ProductSearch &own, const py::object &members) {
             return PythonWay{own.in_one_nest(members_from(members, own.count()), kInfinity), own.count()};
           })
      .def("is_array",
           [](const ProductSearch &own, const py::object &members) {
             return own.is_array(members_from(members, own.count()));
           })
      .def_property_readonly("ranked",
                             [](ProductSearch &own) {
                               const auto &ranked = own.ranked();
                               py::tuple found(ranked.size());
                               for (std::size_t place = 0; place < ranked.size(); ++place)
                                 found[place] = py::cast(PythonWay{ranked[place], own.count()});
                               return found;
                             })
      .def("take", &ProductSearch::take)
      .def_property_readonly("alike", [](ProductSearch &own) { return own.alike(); })
      .def_property_readonly("searched_sets", [](const ProductSearch &own) {
        py::list found;
        for (const Members &members : own.searched_sets()) found.append(int_of(members, own.count()));
        return found;
      });
}

}  // namespace

}  // namespace mlir_sparse::search

PYBIND11_MODULE(_search, module) {
  module.doc() = "How products are computed at the least estimated time.";
  mlir_sparse::search::register_sets(module);
  mlir_sparse::search::register_estimates(module);
  mlir_sparse::search::register_nests(module);
  mlir_sparse::search::register_keys(module);
  mlir_sparse::search::register_searches(module);
}
