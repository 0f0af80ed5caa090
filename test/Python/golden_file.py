"""The numbers of a small model, computed in float64 by PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import reference

ROOT = Path(__file__).resolve().parents[2]


class Golden:
    """`test/golden/base.npz`: a small model's numbers, computed in float64 by PyTorch and rounded to float32."""

    def __init__(self) -> None:
        with np.load(ROOT / "test" / "golden" / "base.npz") as archive:
            arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
        self.tokens: reference.Array = arrays["tokens"]
        self.targets: reference.Array = arrays["targets"]
        self.config = reference.Config(**json.loads(str(arrays["config"])), batch_size=self.tokens.shape[0])
        adamw = json.loads(str(arrays["adamw"]))
        self.steps: int = adamw["steps"]
        self.optimizer = reference.Optimizer(
            lr=adamw["lr"],
            beta1=adamw["betas"][0],
            beta2=adamw["betas"][1],
            eps=adamw["eps"],
            weight_decay=adamw["weight_decay"],
        )
        self.logits = arrays["logits"]
        self.losses = arrays["losses"]
        self.grad_norm = float(arrays["grad_norm"])
        self.parameters = self._group(arrays, "param/")
        self.gradients = self._group(arrays, "grad/")
        self.after = self._group(arrays, "after/")

    @staticmethod
    def _group(arrays: dict[str, Any], prefix: str) -> reference.Parameters:
        return {name[len(prefix) :]: value for name, value in arrays.items() if name.startswith(prefix)}

    def float64_parameters(self) -> reference.Parameters:
        """Return copies of the parameters that may be updated in place."""
        return {name: value.astype(np.float64) for name, value in self.parameters.items()}
