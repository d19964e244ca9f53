// What products take by estimate: in one loop nest, with a mask or copies of operands made first, or by BLAS.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "copied_operands.hpp"
#include "loop_times.hpp"
#include "masked_products.hpp"

namespace mlir_sparse::search {

// The times of loop nests, each found once.
class NestTimes {
 public:
  // `has_masks` says whether products with a mask may be made in a nest of their own, which takes memory, and
  // `has_workspaces` whether loops sum fibres into workspaces.
  NestTimes(std::shared_ptr<Estimates> estimates, std::shared_ptr<const MachineSteps> machine, bool has_blas,
            bool has_masks, bool has_workspaces)
      : estimates_(std::move(estimates)), machine_(std::move(machine)), has_blas_(has_blas), has_masks_(has_masks),
        has_workspaces_(has_workspaces) {}

  // Lets nests read operands from copies that are arrays.
  void allow_copies(const PartRoom &room);
  // Says which dimension of results over some variables is the last.
  void set_last(const Bits &variables, int last) { last_[variables] = last; }
  void take_last_of(const NestTimes &other) { last_ = other.last_; }

  // What one loop nest over all relations takes, or BLAS or a nest more where that takes less; none where that is known
  // to exceed a time.
  std::optional<NestTime> of(const Relations &relations, const Bits &kept, double most, bool array);
  NestTime exact(const Relations &relations, const Bits &kept, bool array) { return *of(relations, kept, kInfinity, array); }
  // What one loop nest over all relations takes, even where something else takes less.
  NestTime in_loops(const Relations &relations, const Bits &kept, bool array) {
    return *loops_within(relations, kept, kInfinity, array);
  }
  // The variables of the loops over the entries of one nest, outermost first.
  std::vector<int> loop_order(const Relations &relations, const Bits &kept) const;
  double of_mask(Mask &mask);

  const std::shared_ptr<Estimates> &estimates() const { return estimates_; }
  const std::shared_ptr<const MachineSteps> &machine() const { return machine_; }
  bool has_blas() const { return has_blas_; }
  bool has_workspaces() const { return has_workspaces_; }
  std::size_t nests_known() const { return nests_.size(); }

  long long work = 0;           // how many ways searches looked at: what they take, whatever the processor
  std::size_t nests_made = 0;   // how many loop nests were priced
  std::size_t masks_priced = 0;

 private:
  std::optional<NestTime> least(const Relations &relations, const Bits &kept, double most, bool array);
  const Masks &masks_among(const Relations &relations, const Bits &kept);
  std::optional<NestTime> with_copied(const Relations &relations, const Bits &kept, std::optional<NestTime> found,
                                      double most, bool array);
  std::optional<NestTime> of_copies(const std::vector<CopiedPointer> &copied, const Relations &relations,
                                    const Bits &kept, double most, bool array);
  std::optional<NestTime> loops_within(const Relations &relations, const Bits &kept, double most, bool array);

  std::shared_ptr<Estimates> estimates_;
  std::shared_ptr<const MachineSteps> machine_;
  bool has_blas_, has_masks_, has_workspaces_;
  std::optional<CopiedOperands> copies_;
  std::unordered_map<Key, NestTime, KeyHash> known_;
  std::unordered_map<Key, double, KeyHash> exceeded_;  // by the same keys times that are exceeded
  // The nests by the variables of the result and the operands, and what they take once that is known, whatever takes
  // less: they may be asked for again with more time.
  struct Priced {
    LoopNest nest;
    std::optional<NestTime> time;
  };
  std::unordered_map<Key, Priced, KeyHash> nests_;
  std::unordered_map<Key, Masks, KeyHash> masks_;  // what a mask gives is one object for all nests that read it
  std::unordered_map<Bits, int, BitsHash> last_;
};

}  // namespace mlir_sparse::search
