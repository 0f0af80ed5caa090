#!/usr/bin/env python3
"""Attention alone in PyTorch, on the queries, keys and values of another implementation.

Reads one job per line of standard input, in JSON, and answers each with one line. A job has the keys

    part     whole, or scores: only the softmax of the scores, [batch, length, length] or [batch, heads, length,
    length], without v; variants naive and compiled
    inputs   a safetensors file with q, k, v and weights: [batch, length, head_dim], or [batch, length, heads,
    head_dim]; weights have the output's shape. Before the timed calls, they get the layout that the variant's kernels
    read and write
    values   a safetensors file to write: the output o, and the gradients q, k and v of Σ o·weights, as float32
    causal   true if query i sees key j only for i ≥ j
    score    what happens to the scaled score of query i and key j before the mask; the variants sdpa, flash and cudnn
             support only plain
             plain      nothing
             window     visible only if i − j < score_number
             cached     visible only if i + score_number ≥ j, with fewer queries than keys
             alibi      plus slopes[head] · (j − i), where the inputs have slopes: [heads]
             relative   plus biases[clamp(j − i, −n, n) + n, head] for n = score_number, where the inputs have biases:
                        [2n + 1, heads]
             softcap    score_number · tanh(score / score_number)
             documents  visible only if documents[batch, i] = documents[batch, j], where the inputs have documents:
                        [batch, length]
    score_number  a number; 0 if the score function has none
    dtype    fp32, tf32 (float32 with rounded matmuls), bf16 or fp16: the type of q, k and v
    device   cpu or cuda[:N]
    variant  naive      two matmuls and torch.softmax
             compiled   torch.compile of naive
             sdpa       scaled_dot_product_attention, with the backend that PyTorch chooses
             flash      the same by FlashAttention
             cudnn      the same by cuDNN
             flex       torch.compile of flex_attention, with a block mask if some keys are hidden. The mask is made
                        once, outside of the times
    warmup, steps, threads   numbers; threads 0 stands for PyTorch's default

The answer has `forward_ms` and `backward_ms`, one time per step, of the call alone: without changes of layout, and
without adding to gradients. `clock` is "event" on a GPU: from an event before the call to one after it, in the stream.
On the CPU it is "host": the host's clock. On a GPU there are also, by PyTorch's allocator, `before_backward_mib`,
`forward_peak_mib` and `backward_peak_mib`. If memory does not suffice, the answer is {"error": "out of memory"}. If a
backend has no kernel for the job, it is {"unsupported": the reason}.

echo '{"inputs": …}' | python3 torch_attention.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from answer_jobs import Job, UnsupportedError, answer_jobs
from safetensors.torch import load_file, save_file
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

# Names in SDPBackend, where an older PyTorch lacks some.
BACKENDS = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
# Parts of PyTorch's errors if a backend has no kernel for the tensors.
NO_KERNEL = ("No available kernel", "No viable backend")


@dataclass(frozen=True)
class Score:
    """A score function and a mask. `change` and `sees` have the arguments that flex_attention gives them.

    Indices are numbers, or tensors that broadcast to scores.
    """

    causal: bool
    #: change(score, batch, head, query, key) → score, or None
    change: Callable | None = None
    #: sees(batch, head, query, key) → bool, or None if every query sees every key
    sees: Callable | None = None
    #: True if `sees` depends on the batch.
    by_batch: bool = False


Tensors = dict[str, torch.Tensor]
Index = torch.Tensor


def up_to_query(_batch: Index, _head: Index, query: Index, key: Index) -> torch.Tensor:
    """Return where a key is not after the query."""
    return query >= key


def plain(job: Job, _tensors: Tensors) -> Score:
    return Score(job["causal"], sees=up_to_query if job["causal"] else None)


def window(job: Job, _tensors: Tensors) -> Score:
    width = int(job["score_number"])

    def sees(_batch: Index, _head: Index, query: Index, key: Index) -> torch.Tensor:
        return (query >= key) & (query - key < width)

    return Score(job["causal"], sees=sees)


def cached(job: Job, _tensors: Tensors) -> Score:
    first = int(job["score_number"])

    def sees(_batch: Index, _head: Index, query: Index, key: Index) -> torch.Tensor:
        return query + first >= key

    return Score(job["causal"], sees=sees)


def alibi(job: Job, tensors: Tensors) -> Score:
    slopes = tensors["slopes"]

    def change(score: torch.Tensor, _batch: Index, head: Index, query: Index, key: Index) -> torch.Tensor:
        return score + slopes[head] * (key - query)

    return replace(plain(job, tensors), change=change)


def relative(job: Job, tensors: Tensors) -> Score:
    biases, reach = tensors["biases"], int(job["score_number"])

    def change(score: torch.Tensor, _batch: Index, head: Index, query: Index, key: Index) -> torch.Tensor:
        return score + biases[torch.clamp(key - query, -reach, reach) + reach, head]

    return replace(plain(job, tensors), change=change)


def softcap(job: Job, tensors: Tensors) -> Score:
    cap = job["score_number"]

    def change(score: torch.Tensor, _batch: Index, _head: Index, _query: Index, _key: Index) -> torch.Tensor:
        return cap * torch.tanh(score / cap)

    return replace(plain(job, tensors), change=change)


def documents(job: Job, tensors: Tensors) -> Score:
    numbers, causal = tensors["documents"], job["causal"]

    def sees(batch: Index, _head: Index, query: Index, key: Index) -> torch.Tensor:
        same = numbers[batch, query] == numbers[batch, key]
        return same & (query >= key) if causal else same

    return Score(causal, sees=sees, by_batch=True)


SCORES: dict[str, Callable[[Job, Tensors], Score]] = {
    "plain": plain,
    "window": window,
    "cached": cached,
    "alibi": alibi,
    "relative": relative,
    "softcap": softcap,
    "documents": documents,
}
# The variants that support all of them.
SCORE_VARIANTS = ("naive", "compiled", "flex")
# The variants whose kernels read and write [batch, length, heads, head_dim] in place, through a transposed view. Others
# have contiguous heads.
INTERLEAVED_HEADS = ("sdpa", "flash", "cudnn")


def indices(scores: torch.Tensor) -> list[torch.Tensor]:
    """Return the batch, head, query and key of every score. scores: [batch, length, length] or with heads."""
    rank = scores.dim()
    along = [
        torch.arange(size, device=scores.device).view([-1 if axis == own else 1 for axis in range(rank)])
        for own, size in enumerate(scores.shape)
    ]
    return along if rank == 4 else [along[0], torch.zeros_like(along[0]), *along[1:]]


def probabilities(q: torch.Tensor, k: torch.Tensor, score: Score) -> torch.Tensor:
    """Return the softmax of the scores, [..., length, length]. q, k: [..., length, head_dim]."""
    scores = (q @ k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    if score.change:
        scores = score.change(scores, *indices(scores))
    if score.sees:
        scores = torch.where(score.sees(*indices(scores)), scores, float("-inf"))
    return torch.softmax(scores, dim=-1)


def naive(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, score: Score) -> torch.Tensor:
    """Compute attention by two matmuls. q, k, v: [..., length, head_dim]."""
    return probabilities(q, k, score) @ v


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, score: Score) -> torch.Tensor:
    """Compute plain attention by the library's fused kernels, which require an axis of heads."""
    if q.dim() == 3:
        return sdpa(q[:, None], k[:, None], v[:, None], score)[:, 0]
    return functional.scaled_dot_product_attention(q, k, v, is_causal=score.causal)


def by_backend(name: str) -> Callable:
    """Return `sdpa` by one backend. The backward pass uses the backend of its forward pass."""
    backend = getattr(SDPBackend, BACKENDS[name], None)
    if backend is None:
        raise UnsupportedError(f"PyTorch {torch.__version__} has no backend {name}")

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, score: Score) -> torch.Tensor:
        try:
            with sdpa_kernel(backend):
                return sdpa(q, k, v, score)
        except RuntimeError as error:
            if any(part in str(error) for part in NO_KERNEL):
                raise UnsupportedError(f"the backend {name} has no kernel for {q.dtype} on {q.device}") from error
            raise

    return run


def flex() -> Callable:
    """Return attention by flex_attention. The block mask is made in the first call."""
    try:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    except ImportError as error:
        raise UnsupportedError(f"flex requires PyTorch 2.5 or later, this is {torch.__version__}") from error
    attend = torch.compile(flex_attention)
    masks = []

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, score: Score) -> torch.Tensor:
        if q.dim() == 3:
            return run(q[:, None], k[:, None], v[:, None], score)[:, 0]
        if score.sees and not masks:
            batches = q.shape[0] if score.by_batch else None
            # Compiling this function for 16,384 positions takes minutes.
            masks.append(create_block_mask(score.sees, batches, None, q.shape[-2], k.shape[-2], device=q.device))
        return attend(q, k, v, score_mod=score.change, block_mask=masks[0] if masks else None)

    return run


def swap_heads(tensor: torch.Tensor) -> torch.Tensor:
    """Return a view with the axes of positions and heads exchanged, if there are heads."""
    return tensor.transpose(1, 2) if tensor.dim() == 4 else tensor


def choose(variant: str, part: str, form: str) -> Callable:
    """Return the function of the variant, which must support the score function `form`."""
    if form != "plain" and variant not in SCORE_VARIANTS:
        raise UnsupportedError(f"{variant} has no score functions: variants naive, compiled and flex do")
    if part == "scores":
        return {"naive": probabilities, "compiled": torch.compile(probabilities)}[variant]
    if variant == "compiled":
        return torch.compile(naive)
    if variant == "flex":
        return flex()
    if variant in BACKENDS:
        return by_backend(variant)
    return {"naive": naive, "sdpa": sdpa}[variant]


def measure(job: Job) -> dict[str, object]:
    """Compute values first, then times."""
    device = torch.device(job["device"])
    if job["threads"]:
        torch.set_num_threads(job["threads"])
    torch.set_float32_matmul_precision("highest" if job["dtype"] == "fp32" else "high")
    tensors = load_file(job["inputs"], device=str(device))
    is_whole = job["part"] == "whole"
    names = "qkv" if is_whole else "qk"

    def arrange(tensor: torch.Tensor) -> torch.Tensor:
        heads = swap_heads(tensor)
        return heads if job["variant"] in INTERLEAVED_HEADS else heads.contiguous()

    leaves = [arrange(tensors.pop(name)).requires_grad_() for name in names]
    weights = tensors.pop("weights")
    # The weights of scores are [batch, heads, length, length] already.
    weights = arrange(weights) if is_whole else weights
    score = SCORES[job["score"]](job, tensors)
    attention = choose(job["variant"], job["part"], job["score"])
    on_gpu = device.type == "cuda"

    def synchronize() -> None:
        if on_gpu:
            torch.cuda.synchronize(device)

    def backward(o: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad(o, leaves, weights)

    def timed(function: Callable) -> float:
        if not on_gpu:
            begin = time.perf_counter()
            function()
            return 1e3 * (time.perf_counter() - begin)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        synchronize()
        start.record()
        function()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def memory(peak: bool) -> float | None:
        if not on_gpu:
            return None
        count = torch.cuda.max_memory_allocated if peak else torch.cuda.memory_allocated
        return count(device) / 2**20

    def reset_peak() -> None:
        if on_gpu:
            torch.cuda.reset_peak_memory_stats(device)

    answer: dict[str, object] = {"torch": torch.__version__, "clock": "event" if on_gpu else "host"}
    start = time.perf_counter()
    try:
        o = attention(*leaves, score)
        gradients = backward(o)
    except NotImplementedError as error:
        raise UnsupportedError(f"{job['variant']}: {error}") from error
    synchronize()
    answer["first_call_s"] = time.perf_counter() - start
    o = o.detach()
    values = {"o": swap_heads(o) if is_whole else o}
    values |= {name: swap_heads(gradient) for name, gradient in zip(names, gradients, strict=True)}
    save_file({name: value.float().contiguous().cpu() for name, value in values.items()}, job["values"])
    del o, gradients, values

    reset_peak()
    with torch.no_grad():
        attention(*leaves, score)
    answer["forward_peak_mib"] = memory(peak=True)
    reset_peak()
    o = attention(*leaves, score)
    answer["before_backward_mib"] = memory(peak=False)
    gradients = backward(o)
    answer["backward_peak_mib"] = memory(peak=True)
    del o, gradients

    forward_ms, backward_ms = [], []
    for _ in range(job["warmup"] + job["steps"]):
        with torch.no_grad():
            forward_ms.append(timed(lambda: attention(*leaves, score)))
    for _ in range(job["warmup"] + job["steps"]):
        o = attention(*leaves, score)
        backward_ms.append(timed(lambda o=o: backward(o)))
        del o
    times = {"forward_ms": forward_ms[job["warmup"] :], "backward_ms": backward_ms[job["warmup"] :]}
    return answer | times | {"threads": torch.get_num_threads()}


if __name__ == "__main__":
    answer_jobs(measure)
