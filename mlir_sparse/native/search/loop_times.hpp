// What one loop nest takes by estimate: the steps of its loops, each by what it does; or BLAS in its place.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "machine_steps.hpp"
#include "nest_loops.hpp"

namespace mlir_sparse::search {

struct Mask;

// An operand that a loop nest reads from a copy in other storage.
struct CopiedOperand {
  Relation operand;
  Relation copy;       // what loops read in its place
  double nanoseconds;  // the time of copying
};
using CopiedPointer = std::shared_ptr<const CopiedOperand>;

// What one loop nest takes.
struct NestTime {
  double nanoseconds;
  double places;   // at how many places its operands meet
  double entries;  // of its result
  bool sparse;     // whether the result is sparse
  double most;     // the most entries that the result can have
  bool by_blas = false;  // whether it is a product of two arrays that BLAS computes, in place of loops
  std::shared_ptr<Mask> masked = nullptr;  // how one operand masks the product of two others in a nest of its own
  std::vector<CopiedPointer> copied = {};  // the operands that it reads from copies, which are made first
};

// What BLAS takes for a product of two arrays; infinity for what has no matrix.
double blas_time(const Relations &relations, const Bits &kept, const Estimates &estimates, const MachineSteps &machine);

// The time of bringing a relation into another order: into as many slices as its innermost level has.
double time_to_sort(const EntrySet &relation, const Estimates &estimates, const MachineSteps &machine);

// A loop nest: loops over entries, with loops over rows of arrays inside of them if there are any.
class LoopNest {
 public:
  // `array` says whether the result is an array although loops could leave elements out, and `last` is the variable of
  // the result's last dimension; -1 where its dimensions have no order yet. `workspaces` says whether a fibre may be
  // summed before it is multiplied by what its entries share.
  LoopNest(const Relations &relations, const Bits &result, const std::shared_ptr<Estimates> &estimates,
           const std::shared_ptr<const MachineSteps> &machine, bool array, int last, bool workspaces);

  // What it takes; none where that exceeds a time.
  std::optional<NestTime> time(double most) const;
  // The loops over entries, outermost first; none where they exceed a time.
  std::optional<Loops> loops(double most) const;
  bool is_sparse() const { return !sparse_.empty(); }

 private:
  double functions() const;
  double in_loops(const Loops &loops) const;
  double walks(const Loops &loops) const;
  double enters(const EntrySet &relation, const Loops &loops) const;
  double slices(const Bits &variables, const Loops &loops) const;
  double reads(const Loops &loops) const;
  using Each = double (MachineSteps::*)(double) const;
  double in_some_order(const Bits &variables, double elements, const Loops &loops, Each each) const;
  double inner(const Loops &loops) const;
  double rows_together(const Relations &arrays, const Bits &rows, std::size_t others) const;
  double row_of_result(const Loops &loops) const;
  std::optional<double> by_fibres(const Loops &loops) const;

  Relations sparse_, arrays_;
  Bits result_;
  int last_;
  Bits variables_, walked_;
  Bits rows_;     // the variables of the inner loops, which only arrays have
  bool inserts_;  // whether the result is sparse: loops go over its entries
  bool workspaces_;
  // At how many places all sparse operands have an entry, and the most that there can be.
  double met_, met_at_most_;
  double places_, fixed_, at_least_;
  std::shared_ptr<Estimates> estimates_;
  std::shared_ptr<const MachineSteps> machine_;
};

}  // namespace mlir_sparse::search
