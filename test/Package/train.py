# ===- train.py - The minimum of an installed package ---------------------===//
#
# Part of cs336-opt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Build, compile and train a small model with the installed package."""

import math

import cs336
import numpy as np

config = cs336.TransformerConfig(
    vocab_size=40, context_length=8, d_model=16, num_layers=1, num_heads=2, d_ff=24, batch_size=2
)
session = cs336.Session(cs336.compile(cs336.build(config, mode="train", optimizer=cs336.Optimizer(lr=1e-2))))
session.initialize(0)
ids = np.arange(18).reshape(2, 9)
losses = [float(session.run("train", {"tokens": ids[:, :-1], "targets": ids[:, 1:]})["loss"]) for _ in range(30)]
assert abs(losses[0] - math.log(40)) < 1.0, losses
assert losses[-1] < 0.5 * losses[0], losses
print("trained with", cs336.__file__)
