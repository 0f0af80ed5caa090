//===- DivideByConstants.cpp - A pass in a plugin -------------------------===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// example-divide-by-constants: multiplies by 1/c instead of dividing by c, where both give the same number.
//
//===----------------------------------------------------------------------===//

#include "cs336/Dialect/CS336/IR/CS336Ops.h"
#include "cs336/Statistics/PassCounter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using namespace cs336;

namespace {

/// Before: `%y = cs336.div %x, %c`, where %c is a splat.
/// After: `%y = cs336.mul %x, %r` with %r = 1/%c, if 1/%c is exact: %c is a power of two. Emits a remark for other
/// constants, and leaves their divisions unchanged.
///
/// Counts `num-multiplied`, divisions that are multiplications now.
class DivideByConstantsPass : public PassWrapper<DivideByConstantsPass, OperationPass<func::FuncOp>>,
                              public CountingPass {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DivideByConstantsPass)

  DivideByConstantsPass() = default;
  DivideByConstantsPass(const DivideByConstantsPass &) {}

  StringRef getArgument() const final { return "example-divide-by-constants"; }
  StringRef getDescription() const final { return "Multiply by the inverse of a constant that is a power of two"; }

  void runOnOperation() override;

private:
  PassCounter numMultiplied{this, "num-multiplied", "Number of divisions that are multiplications now"};
};

} // namespace

void DivideByConstantsPass::runOnOperation() {
  for (auto division : llvm::make_early_inc_range(getOperation().getOps<DivOp>())) {
    SplatElementsAttr divisor;
    if (!matchPattern(division.getRhs(), m_Constant(&divisor)))
      continue;
    APFloat inverse(0.0);
    if (!divisor.getSplatValue<APFloat>().getExactInverse(&inverse)) {
      division.emitRemark("1/c is not exact: the division stays");
      continue;
    }
    OpBuilder builder(division);
    auto factors = DenseElementsAttr::get(divisor.getType(), inverse);
    Value factor = ConstantOp::create(builder, division.getLoc(), divisor.getType(), factors);
    Value product = MulOp::create(builder, division.getLoc(), division.getLhs(), factor);
    division.replaceAllUsesWith(product);
    division.erase();
    ++numMultiplied;
  }
}

/// The function that `--load-pass-plugin` calls.
extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "DivideByConstants", "1.0", [] { PassRegistration<DivideByConstantsPass>(); }};
}
