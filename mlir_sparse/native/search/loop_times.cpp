#include "loop_times.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <tuple>

namespace mlir_sparse::search {

namespace {

constexpr double kLimit = 2e9;  // elements of a dense temporary beyond which no plan has one
// A product by a vector in BLAS takes so much of the time of loops for each element, as it sums several rows together.
constexpr double kOfLoops = 0.5;

// What BLAS takes for a product of a matrix of so many elements by a vector.
double matrix_vector_time(double elements, double result, const MachineSteps &machine) {
  if (elements >= kLimit) return kInfinity;
  return machine.call + kOfLoops * 2 * machine.lane * elements + machine.write * result;
}

double time_of_result(double places, double space, std::size_t sparse, bool inserts, const MachineSteps &machine) {
  if (inserts) return (sparse == 1 ? machine.append : machine.insert) * places + machine.sparse_result;
  const double each = space < machine.kept ? machine.write : machine.fresh_write;
  return space < kLimit ? each * space : kInfinity;
}

// The time of a conversion, if no order of loops suits all levels.
double conversion(const Relations &sparse, const Estimates &estimates, const MachineSteps &machine) {
  if (sparse.size() < 2 || predecessors(sparse)) return 0.0;
  double found = kInfinity;
  for (const Relation &one : sparse)
    if (one->has_levels()) found = std::min(found, time_to_sort(*one, estimates, machine));
  return found;
}

// The outermost loop inside of which all of some variables are known.
const Loop &outermost(const Bits &variables, const Loops &loops) {
  for (const Loop &loop : loops)
    if (variables.within(loop.inside)) return loop;
  throw std::logic_error("loops are over all variables of their operands");
}

}  // namespace

double blas_time(const Relations &relations, const Bits &kept, const Estimates &estimates,
                 const MachineSteps &machine) {
  if (relations.size() != 2) return kInfinity;
  const EntrySet &one = *relations[0], &other = *relations[1];
  if (one.sparse || other.sparse || !(one.in_memory && other.in_memory)) return kInfinity;
  const Bits first = one.variables, second = other.variables;
  const Bits shared = first & second, summed = shared - kept;
  if ((first | second) - summed != kept || !summed || !kept) return kInfinity;
  if (first.within(shared) || second.within(shared)) {
    if (shared.meets(kept)) return kInfinity;
    return matrix_vector_time(estimates.space(first | second), estimates.space(kept), machine);
  }
  const double elements = estimates.space(first) + estimates.space(second) + estimates.space(kept);
  const double each = elements < machine.kept ? machine.write : machine.element;  // what is in the caches is there
  const double total = estimates.space(first | second) * machine.multiply_add + elements * each;
  return elements < kLimit ? total + estimates.space(shared & kept) * machine.matrices + machine.call : kInfinity;
}

double time_to_sort(const EntrySet &relation, const Estimates &estimates, const MachineSteps &machine) {
  const bool ordered = relation.order && !relation.order->empty();
  const double slices = ordered ? estimates.extent(relation.order->back()) : 1.0;
  return machine.convert_into(slices) * relation.entries;
}

LoopNest::LoopNest(const Relations &relations, const Bits &result, const std::shared_ptr<Estimates> &estimates,
                   const std::shared_ptr<const MachineSteps> &machine, bool array, int last, bool workspaces)
    : result_(result), last_(last), workspaces_(workspaces), estimates_(estimates), machine_(machine) {
  for (const Relation &one : relations) {
    variables_ |= one->variables;
    if (!one->sparse) {
      arrays_.push_back(one);
    } else if (std::find(sparse_.begin(), sparse_.end(), one) == sparse_.end()) {
      sparse_.push_back(one);  // a part that is read twice at the same places is walked once
      walked_ |= one->variables;
    }
  }
  rows_ = variables_ - walked_;
  inserts_ = !sparse_.empty() && !array && result.several() && result.within(walked_);
  std::tie(met_, met_at_most_) = estimates_->meet(sparse_);
  places_ = met_ * estimates_->space(rows_);
  fixed_ = machine_->call +
           time_of_result(places_, estimates_->space(result), sparse_.size(), inserts_, *machine_) + functions();
  at_least_ = fixed_ + (sparse_.empty() ? 0.0 : met_ * machine_->walk);
}

std::optional<NestTime> LoopNest::time(double most) const {
  if (at_least_ > most) return std::nullopt;
  const double space = estimates_->space(result_);
  double total = fixed_;
  if (sparse_.empty()) {
    total += places_ * machine_->lane * static_cast<double>(std::max<std::size_t>(1, arrays_.size()));
  } else {
    total += conversion(sparse_, *estimates_, *machine_);
    const auto found = loops(most - total);
    total += found ? in_loops(*found) : kInfinity;
  }
  // Nothing says how long it takes where numbers are beyond those of doubles: as long as can be.
  if (std::isnan(total)) total = kInfinity;
  if (total > most) return std::nullopt;
  if (!inserts_) return NestTime{total, places_, space, false, space};
  double entries =
      result_ == variables_ ? places_ : estimates_->entries_of_sum(sparse_, places_, result_);
  for (const Relation &one : sparse_)
    if (one->variables == result_) entries = std::min(entries, one->entries);
  return NestTime{total, places_, entries, true, std::min(space, met_at_most_)};
}

std::optional<Loops> LoopNest::loops(double most) const {
  const double meet = machine_->meet / machine_->walk;
  auto found = loops_over(sparse_, inserts_ ? result_ : Bits(), *estimates_, meet, most / machine_->walk, result_);
  if (found && !(found->back().iterations >= met_)) found->back().iterations = met_;
  return found;
}

// The time of functions that loops compute: in vectors, or each by itself. Rows of a few entries are no vectors either,
// and elements that entries name come one by one.
double LoopNest::functions() const {
  double found = 0.0;
  for (const Relation &one : arrays_)
    if (const auto [in_vectors, called] = one->functions; in_vectors != 0.0 || called != 0.0) {
      const bool outside = one->variables.within(result_);
      const bool lone = !sparse_.empty() || (outside && !variables_.within(result_));
      const double often = outside ? std::min(places_, estimates_->space(one->variables)) : places_;
      const double each = in_vectors * (lone ? machine_->lone_function : machine_->function);
      found += often * (each + called * machine_->lone_function);
    }
  return found;
}

double LoopNest::in_loops(const Loops &loops) const {
  return walks(loops) + reads(loops) + (rows_ ? inner(loops) : 0.0);
}

// The time of going over rows.
double LoopNest::walks(const Loops &loops) const {
  double found = 0.0;
  for (const Loop &loop : loops) found += loop.iterations * (loop.meeting ? machine_->meet : machine_->walk);
  if (loops.size() < 2) return found;
  double entered = 0.0;
  for (const Relation &relation : sparse_) entered += enters(*relation, loops);
  return found + entered;
}

// The time of beginning rows of a relation that loops come to in no order, or again and again.
double LoopNest::enters(const EntrySet &relation, const Loops &loops) const {
  double found = 0.0;
  const Bits &own = relation.variables;
  for (std::size_t place = 1; place < loops.size(); ++place) {
    const Loop &outer = loops[place - 1], &inner = loops[place];
    const Bits row = own & outer.inside;
    if (!row || row == outer.inside || !((inner.inside - outer.inside) & own)) continue;
    const Loop &loop = outermost(row, loops);
    // The row that was the last; few are, where loops inside of the outermost leave few places.
    found += std::max(0.0, outer.iterations - loop.iterations) * machine_->enter;
    if (loop.inside != row) {
      const double entries = relation.entries / slices(relation.variables, loops);
      found += loop.iterations * machine_->enter_in(entries);
    }
  }
  return found;
}

// Into how many slices the outermost loop divides what has some variables: one is near at a time.
double LoopNest::slices(const Bits &variables, const Loops &loops) const {
  const Bits &first = loops[0].inside;
  return first.meets(variables) ? std::max(1.0, estimates_->space(first)) : 1.0;
}

// The time of reading elements of arrays, and of adding to those of the result.
//
// Each is read in the outermost loop that has all its variables.
double LoopNest::reads(const Loops &loops) const {
  double found = 0.0;
  for (const Relation &array : arrays_)
    if (const Bits outer = array->variables - rows_) {
      const double elements = std::min(array->entries, estimates_->space(outer));
      found += in_some_order(outer, elements, loops, &MachineSteps::look_up_in);
    }
  if (inserts_) {
    double masks = 0.0;
    for (const Relation &one : sparse_)
      if (sparse_.size() > 1 && one->variables == result_)
        masks += in_some_order(result_, estimates_->space(result_), loops, &MachineSteps::look_up_in);
    return found + masks;
  }
  if (const Bits outer = result_ - rows_) {
    // Rows of arrays that are added to a row of the result are counted where loops go over them.
    const Each each = result_.meets(rows_) ? &MachineSteps::look_up_in : &MachineSteps::scatter_in;
    found += in_some_order(outer, estimates_->space(outer), loops, each);
  }
  return found;
}

// The time of coming to elements over some variables; loops over just these do so in order.
double LoopNest::in_some_order(const Bits &variables, double elements, const Loops &loops, Each each) const {
  const Loop &loop = outermost(variables, loops);
  if (loop.inside == variables) return loop.iterations * machine_->look_up;
  const double near = elements / slices(variables, loops);
  double found = loop.iterations * ((*machine_).*each)(near);
  if (near < elements && elements > machine_->near)
    found += std::min(loop.iterations, elements / 8) * machine_->far_line;
  return found;
}

// The time of loops over rows of arrays.
double LoopNest::inner(const Loops &loops) const {
  if (const auto found = by_fibres(loops)) return *found;
  return loops.back().iterations * (rows_together(arrays_, rows_, sparse_.size()) + row_of_result(loops));
}

// The time of summing each fibre into a workspace, and of multiplying that by what the entries share; none where loops
// do otherwise.
std::optional<double> LoopNest::by_fibres(const Loops &loops) const {
  if (!workspaces_ || inserts_ || loops.size() < 2 || loops.back().meeting || !rows_.within(result_))
    return std::nullopt;
  const Loops around(loops.begin(), loops.end() - 1);
  const Bits summed = loops.back().inside - around.back().inside;
  if (summed.meets(result_)) return std::nullopt;
  Relations own, shared;
  for (const Relation &array : arrays_) (array->variables.meets(summed) ? own : shared).push_back(array);
  const Bits kept = union_of(own) & rows_;
  if (shared.empty() || kept == rows_) return std::nullopt;
  const double of_entries = loops.back().iterations * rows_together(own, kept, sparse_.size());
  return of_entries + around.back().iterations * (rows_together(shared, rows_, 1) + row_of_result(around));
}

// The time of going over rows of arrays together once, with so many other factors.
double LoopNest::rows_together(const Relations &arrays, const Bits &rows, std::size_t others) const {
  double found = 0.0;
  for (const Relation &array : arrays) {
    const Bits own = array->variables & rows;
    if (!own) continue;
    const double elements = estimates_->space(own);
    if (array->order && !array->order->empty() && !rows.has(array->order->back())) {
      found += elements * machine_->look_up_in(array->entries);  // of columns, each in a line of its own
    } else {
      const double line = array->entries > machine_->near ? machine_->far_line : machine_->near_line;
      found += std::max(1.0, elements / 8) * line;
    }
  }
  const double lanes = std::max(1.0, static_cast<double>(others + arrays.size()) - 1);
  return found + estimates_->space(rows) * machine_->lane * lanes;
}

// The time of adding to a row of the result, which stays in registers while a sum is innermost.
double LoopNest::row_of_result(const Loops &loops) const {
  const Bits own = result_ & rows_;
  if (!own) return 0.0;
  const double elements = estimates_->space(own);
  if (last_ >= 0 && !rows_.has(last_)) return elements * machine_->look_up;
  const Bits outside = loops.size() > 1 ? loops[loops.size() - 2].inside : Bits();
  if (!(result_ & (loops.back().inside - outside)) || inserts_ || walked_.within(result_)) return 0.0;
  const double line = estimates_->space(result_) > machine_->near ? machine_->far_line : machine_->near_line;
  return 2 * std::max(1.0, elements / 8) * line;
}

}  // namespace mlir_sparse::search
