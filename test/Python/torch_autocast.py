"""The Transformer under PyTorch's own autocast, if PyTorch is installed: `autocast_reference` emulates this."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
from reference import Array, Config, Parameters

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"


def is_available(device: str) -> bool:
    """Return true if PyTorch is installed for this device."""
    if importlib.util.find_spec("torch") is None:
        return False
    import torch

    return device == "cpu" or torch.cuda.is_available()


def run(
    dtype: str, parameters: Parameters, tokens: Array, targets: Array, config: Config, device: str
) -> tuple[Array, float, Parameters]:
    """Return logits, loss and gradients of the benchmarks' PyTorch model, in its plainest form."""
    import torch

    if str(PEERS) not in sys.path:
        sys.path.append(str(PEERS))
    from torch_model import AUTOCAST, Transformer

    place = torch.device(device)
    model = Transformer(asdict(config), "eager", place)
    p = {
        name: torch.tensor(value, dtype=torch.float32, device=place, requires_grad=True)
        for name, value in parameters.items()
    }
    ids, labels = (torch.tensor(np.asarray(values, np.int64), device=place) for values in (tokens, targets))
    with torch.autocast(place.type, dtype=AUTOCAST[dtype]):
        logits = model.logits(p, ids)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
    loss.backward()

    def to_numpy(value: torch.Tensor) -> Array:
        return value.detach().double().cpu().numpy()

    return to_numpy(logits), loss.item(), {name: to_numpy(value.grad) for name, value in p.items()}
