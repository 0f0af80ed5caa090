//===- gradient_update.cuh - Updates by gradients on sm_90a -----*- C++ -*-===//
//
// Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

/// Computes gradients leftᵀ · right and updates parameters by them. The gradients are not stored in global memory.
///
/// The tensor cores limit the matmul, and memory limits the update, so a block does both at the same time: two
/// warpgroups multiply the next tile while two others update the parameters of this tile. They exchange the rounded
/// gradients of the tile through shared memory.
///
/// The blocks of a cluster compute tiles with the same columns. Each copies a part of the right operand to all of them.
///
/// `Members` describes the gradients: their number of tiles, `parts` of their tokens, `find` for a tile, and `Update`,
/// which loads and stores the elements of a member that one thread updates at a time. Each part of a member has two
/// tensor maps, of the left and of the right operand. They describe [slab of 64 columns, token, column in the slab].
template <class Wgmma, class Members, int clusterBlocks, int stages>
class GradientUpdate {
  using Element = typename Wgmma::Element;
  using Update = typename Members::Update;
  static constexpr int multipliers = 2, updaters = 2, tokensPerStage = 32;
  static constexpr int rowsPerTile = GradientTile::rowsPerTile, columnsPerTile = GradientTile::columnsPerTile;
  /// A thread starts with 96 registers. An instruction with a result of 256 columns would need more.
  static constexpr int parts = 2, columnsPerPart = columnsPerTile / parts;
  static_assert(rowsPerTile == multipliers * rowsPerWarpgroup && multipliers == updaters);
  using Left = SlabTile<Wgmma, rowsPerTile, tokensPerStage>;
  using Right = SlabTile<Wgmma, columnsPerTile, tokensPerStage>;
  using RightPart = SlabTile<Wgmma, columnsPerPart, tokensPerStage>;
  /// The gradients of a warpgroup.
  using Gradients = SlabTile<Wgmma, columnsPerTile, rowsPerWarpgroup>;
  using GradientsPart = SlabTile<Wgmma, columnsPerPart, rowsPerWarpgroup>;

  // Offsets in shared memory.
  static constexpr int rightTiles = stages * Left::bytes, gradients = rightTiles + stages * Right::bytes;
  static constexpr int barriers = gradients + multipliers * Gradients::bytes;

  // An updating thread handles `width` elements of each of `rowsAtOnce` rows at a time, while the rows of the next
  // `stepsAhead` steps are fetched into the second-level cache. More steps are slower.
  static constexpr int width = 4, rowsAtOnce = 2, stepsAhead = 1;
  static constexpr int threadsPerRow = columnsPerTile / width, rowsPerStep = 128 / threadsPerRow * rowsAtOnce;

public:
  static constexpr int threads = 128 * (1 + multipliers + updaters);
  /// The barriers, and the bytes by which the first tile may have to be moved for its alignment.
  static constexpr int sharedBytes = barriers + Ring<stages>::bytes + multipliers * Ring<1>::bytes + slabSlack;

  template <class Operands>
  __device__ static void run(const Operands &operands, const TensorMap *maps) {
    GradientUpdate update;
    if (threadIdx.x == 0) {
      update.ring.init(1, multipliers * clusterBlocks);
      for (int warpgroup = 0; warpgroup < multipliers; ++warpgroup)
        update.getExchange(warpgroup).init(128, 128);
      publishBarriers();
    }
    awaitCluster<clusterBlocks>();
    const int warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
    // 640 threads start with 96 registers each.
    if (warpgroup == 0) {
      lowerRegisters<24>();
      if (threadIdx.x == 0)
        update.load(maps);
    } else if (warpgroup <= multipliers) {
      raiseRegisters<160>();
      update.multiply(WarpgroupLane(warpgroup - 1));
    } else {
      lowerRegisters<64>();
      update.apply(operands, warpgroup - 1 - multipliers);
    }
    // Other blocks may still copy to this one, or end the use of its buffers.
    awaitCluster<clusterBlocks>();
  }

private:
  __device__ GradientUpdate() : shared(getSlabMemory()), ring(shared + barriers) {}

  /// Returns the ring of one buffer, through which a multiplying warpgroup passes its gradients to an updating one.
  __device__ Ring<1> getExchange(int warpgroup) const {
    return Ring<1>(shared + barriers + Ring<stages>::bytes + warpgroup * Ring<1>::bytes);
  }
  __device__ unsigned getGradients(int warpgroup) const { return shared + gradients + warpgroup * Gradients::bytes; }

  __device__ void load(const TensorMap *maps) {
    const int rank = getClusterRank<clusterBlocks>();
#pragma unroll 1
    for (int number = blockIdx.x; number < Members::tiles; number += gridDim.x) {
      const GradientTile tile = Members::find(number);
      const int column = tile.column + rank * (columnsPerTile / clusterBlocks);
      // As a loop, both parts would need more registers than the warpgroup has.
#pragma unroll
      for (int part = 0; part < Members::parts; ++part) {
        const TensorMap *operands = maps + 2 * (Members::parts * tile.member + part);
#pragma unroll 1
        for (int token = 0; token < tile.sizes.tokens[part]; token += tokensPerStage) {
          const unsigned barrier = ring.startFilling(Left::bytes + Right::bytes);
          loadBox(shared + ring.getStage() * Left::bytes, operands[0], barrier, 0, token, tile.row / Left::slabColumns,
                  0);
          loadBoxInCluster<clusterBlocks>(shared + rightTiles + ring.getStage() * Right::bytes +
                                              rank * (Right::bytes / clusterBlocks),
                                          operands[1], barrier, 0, token, column / Right::slabColumns, 0);
          ring.advance();
        }
      }
    }
  }

  /// Returns the steps in which the tokens of all parts are loaded. Tokens after the end of a part are zeros.
  __device__ static int countSteps(const GradientSizes &sizes) {
    int steps = 0;
#pragma unroll
    for (int part = 0; part < Members::parts; ++part)
      steps += (sizes.tokens[part] + tokensPerStage - 1) / tokensPerStage;
    return steps;
  }

  __device__ void multiply(const WarpgroupLane &lane) {
    Ring<1> exchange = getExchange(lane.warpgroup);
    float sums[parts][columnsPerPart / 2];
#pragma unroll 1
    for (int number = blockIdx.x; number < Members::tiles; number += gridDim.x) {
      const int steps = countSteps(Members::find(number).sizes);
#pragma unroll 1
      for (int step = 0; step < steps; ++step) {
        ring.awaitFull();
        beginMatmuls();
        const unsigned left = shared + ring.getStage() * Left::bytes + lane.warpgroup * Left::slabBytes;
        const unsigned right = shared + rightTiles + ring.getStage() * Right::bytes;
#pragma unroll
        for (int part = 0; part < parts; ++part)
          RightPart::template multiplyLeftTransposed<Left>(sums[part], left, right + part * RightPart::bytes, step);
        // The matmuls of this step run while the buffers of the step before are released.
        awaitMatmuls<parts>();
        if (step > 0)
          releaseInCluster(ring.getPreviousStage(), lane);
        ring.advance();
      }
      awaitMatmuls<0>();
#pragma unroll
      for (int part = 0; part < parts; ++part)
        pin(sums[part]);
      releaseInCluster(ring.getPreviousStage(), lane);

      exchange.awaitFree();
      const float ones[2] = {1, 1};
#pragma unroll
      for (int part = 0; part < parts; ++part)
        GradientsPart::write(getGradients(lane.warpgroup) + part * GradientsPart::bytes, sums[part], ones);
      arrive(exchange.getFullBarrier());
      exchange.advance();
    }
  }
  /// Ends the use of a stage in all blocks, because each copies to all.
  __device__ void releaseInCluster(int stage, const WarpgroupLane &lane) const {
    if (!lane.isElected)
      return;
#pragma unroll
    for (int block = 0; block < clusterBlocks; ++block)
      arriveInCluster<clusterBlocks>(ring.getFreeBarrier(stage), block);
  }

  /// Updates 64 rows of each tile.
  template <class Operands>
  __device__ void apply(const Operands &operands, int updater) {
    Ring<1> exchange = getExchange(updater);
    const int thread = threadIdx.x % 128, column = thread % threadsPerRow * width;
#pragma unroll 1
    for (int number = blockIdx.x; number < Members::tiles; number += gridDim.x) {
      const GradientTile tile = Members::find(number);
      const Update update(operands, tile.member);
      const typename Update::Index columns = tile.sizes.columns;
      const int first = tile.row + updater * rowsPerWarpgroup;
      // The rows of the tile that this thread may update.
      const int rows = tile.column + column < tile.sizes.columns ? tile.sizes.rows - first : 0;
      auto getRow = [&](int step, int i) { return step + (i * 128 + thread) / threadsPerRow; };
      auto getElement = [&](int row) { return (first + row) * columns + tile.column + column; };
      auto fetch = [&](int step) {
        constexpr int lineBytes = 128;
        if (thread % (lineBytes / (width * 4)) == 0)
#pragma unroll
          for (int i = 0; i < rowsAtOnce; ++i)
            if (getRow(step, i) < rows)
              update.fetch(getElement(getRow(step, i)));
      };
#pragma unroll
      for (int step = 0; step < stepsAhead; ++step)
        fetch(step * rowsPerStep);
#pragma unroll 1
      for (int step = 0; step < rowsPerWarpgroup; step += rowsPerStep) {
        typename Update::Loaded loaded[rowsAtOnce];
#pragma unroll
        for (int i = 0; i < rowsAtOnce; ++i)
          if (getRow(step, i) < rows)
            loaded[i] = update.load(getElement(getRow(step, i)));
        if (step + stepsAhead * rowsPerStep < rowsPerWarpgroup)
          fetch(step + stepsAhead * rowsPerStep);
        if (step == 0)
          exchange.awaitFull();
#pragma unroll
        for (int i = 0; i < rowsAtOnce; ++i) {
          const int row = getRow(step, i);
          if (row < rows)
            update.apply(getElement(row), loaded[i], loadGradients(getGradients(updater), row, column));
        }
      }
      exchange.release(true);
    }
  }

  __device__ static Vector<Element, width> loadGradients(unsigned tile, int row, int column) {
    Vector<Element, width> values;
    reinterpret_cast<uint2 &>(values) =
        loadSharedPair(Gradients::getChunk(tile, row, column / 8) + column % 8 * sizeof(Element));
    return values;
  }

  const unsigned shared;
  Ring<stages> ring;
};
