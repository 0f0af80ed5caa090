"""Evaluates the runs of `training_curve.py`: a comparison of held-out losses, a page, and a picture."""

from __future__ import annotations

import json

import matplotlib as mpl

mpl.use("Agg")
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from record import origin

# The mean ± 2 standard deviations, instead of the range: a fourth run of the same program lies within the range of
# three others only in half of all cases.
DEVIATIONS = 2.0
SMOOTHED_STEPS = 50

Run = dict[str, object]
Groups = dict[tuple[str, str], list[Run]]


def group(runs: list[Run]) -> Groups:
    """Group runs by side and type, with seeds in order."""
    groups: Groups = {}
    for run in runs:
        groups.setdefault((run["side"], run["dtype"]), []).append(run)
    return groups


def held_out(runs: list[Run]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the steps done, and held-out losses [seeds, evaluations]."""
    steps = np.array([step for step, _ in runs[0]["held_out"]])
    return steps, np.array([[loss for _, loss in run["held_out"]] for run in runs])


def compare(runs: list[Run]) -> list[dict[str, object]]:
    """Compare each of our types with PyTorch's same type, or its first one, in units of PyTorch's deviation.

    Returns nothing if PyTorch has fewer than two seeds, because the deviation is then unknown.
    """
    groups = group(runs)
    peers = {dtype: each for (side, dtype), each in groups.items() if side == "PyTorch" and len(each) > 1}
    comparisons = []
    for (side, dtype), ours in groups.items():
        if side == "PyTorch" or not peers:
            continue
        peer_dtype = dtype if dtype in peers else next(iter(peers))
        theirs, losses = held_out(peers[peer_dtype])[1], held_out(ours)[1]
        mean, deviation = theirs.mean(axis=0), theirs.std(axis=0, ddof=1)
        inside = np.abs(losses - mean) <= DEVIATIONS * deviation
        comparisons.append({
            "dtype": dtype,
            "peer_dtype": peer_dtype,
            "ours": losses[:, -1].tolist(),
            "peer": theirs[:, -1].tolist(),
            "peer_mean": mean[-1],
            "peer_deviation": deviation[-1],
            "mean_difference": losses[:, -1].mean() - mean[-1],
            "inside_at_end": bool(inside[:, -1].all()),
            "inside": int(inside.sum()),
            "evaluations": int(inside.size),
        })  # fmt: skip
    return comparisons


def pair(runs: list[Run]) -> list[dict[str, object]]:
    """Return the largest relative differences of runs of both sides with the same type and seed."""
    peers = {(run["dtype"], run["seed"]): run for run in runs if run["side"] == "PyTorch"}
    pairs = []
    for run in runs:
        peer = peers.get((run["dtype"], run["seed"]))
        if run is peer or peer is None:
            continue
        relative = np.abs(np.subtract(run["losses"], peer["losses"])) / np.abs(peer["losses"])
        last = (run["held_out"][-1][1] - peer["held_out"][-1][1]) / peer["held_out"][-1][1]
        pairs.append({
            "dtype": run["dtype"],
            "seed": run["seed"],
            "first_10_difference": float(relative[:10].max()),
            "difference": float(relative.max()),
            "held_out_difference": float(last),
        })  # fmt: skip
    return pairs


def smooth(losses: list[float]) -> NDArray[np.float64]:
    """Return the mean over up to SMOOTHED_STEPS steps up to each step."""
    sums = np.cumsum([0.0, *losses])
    ends = np.arange(1, len(losses) + 1)
    begins = np.maximum(ends - SMOOTHED_STEPS, 0)
    return (sums[ends] - sums[begins]) / (ends - begins)


def plot(runs: list[Run], path: Path) -> None:
    """Draw training and held-out loss, and the held-out loss minus PyTorch's mean, as SVG."""
    figure, (training, held, difference) = plt.subplots(3, 1, figsize=(8, 11), sharex=True)
    groups = group(runs)
    first_peer = next(each for (side, _), each in groups.items() if side == "PyTorch")
    steps, reference = held_out(first_peer)
    mean = reference.mean(axis=0)
    # PyTorch is drawn below, wide and grey; ours above.
    for index, ((side, dtype), each) in enumerate(sorted(groups.items(), key=lambda item: item[0][0] != "PyTorch")):
        is_peer = side == "PyTorch"
        style = {"color": "0.65" if is_peer else f"C{index}", "linewidth": 2.5 if is_peer else 0.9}
        for position, run in enumerate(each):
            style["label"] = f"{side}, {dtype}" if position == 0 else None
            training.plot(np.arange(1, len(run["losses"]) + 1), smooth(run["losses"]), **style)
            losses = [loss for _, loss in run["held_out"]]
            held.plot(steps, losses, marker=None if is_peer else ".", **style)
            difference.plot(steps, np.subtract(losses, mean), marker=None if is_peer else ".", **style)
    if len(first_peer) > 1:
        spread = DEVIATIONS * reference.std(axis=0, ddof=1)
        label = f"PyTorch's mean ± {DEVIATIONS:g} standard deviations"
        held.fill_between(steps, mean - spread, mean + spread, color="0.9", label=label)
        difference.fill_between(steps, -spread, spread, color="0.9", label=label)
    training.set(ylabel=f"training loss, mean of {SMOOTHED_STEPS} steps (nats per token)")
    held.set(ylabel="held-out loss (nats per token)")
    difference.set(xlabel="step", ylabel="held-out loss minus PyTorch's mean")
    for axes in (training, held, difference):
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def describe_comparison(each: dict[str, object]) -> str:
    """Return a sentence with verdict and numbers."""
    losses = ", ".join(f"{loss:.4f}" for loss in each["ours"])
    return (
        f"Held-out losses in {each['dtype']} ({losses}) lie {'within' if each['inside_at_end'] else '**outside**'} "
        f"PyTorch's mean ± {DEVIATIONS:g} standard deviations in {each['peer_dtype']} ({each['peer_mean']:.4f} ± "
        f"{DEVIATIONS * each['peer_deviation']:.4f}, {len(each['peer'])} seeds, from {min(each['peer']):.4f} to "
        f"{max(each['peer']):.4f}) at the end, as do {each['inside']} of {each['evaluations']} on the way; the "
        f"mean differs by {each['mean_difference']:+.4f}."
    )


def markdown(record: dict[str, object], picture: str) -> str:
    """Return the record as a page. Its runs are `results`, or `runs` in records without a schema."""
    runs, text = record["results"] if "results" in record else record["runs"], record["text"]
    lines = [
        "# Training beside PyTorch",
        "",
        origin(record),
        "",
        f"    {record['command']}",
        "",
        f"Runs of one seed have the same initial parameters and the same batches of the text. The text has "
        f"{text['train_tokens']} tokens of {text['vocab_size']} to train on, of which a run draws "
        f"{text['drawn_tokens'] / text['train_tokens']:.2f} times as many, and {text['held_out_tokens']} held out, of "
        f"which {text['evaluated_tokens']} are evaluated; its unigram entropy is {text['unigram_entropy']:.3f}. Model "
        f"and AdamW: `{json.dumps(record['model'])}`, `{json.dumps(record['optimizer'])}`; PyTorch's variant is "
        f"{record['variant']}, whose seconds include compiling. Types are autocast's, with the loss scaled in fp16.",
        "",
        *(f"- {describe_comparison(each)}" for each in record["comparisons"]),
        "",
        f"![Losses by step]({picture})",
        "",
        f"| run | seed | held-out loss | training loss, last {SMOOTHED_STEPS} steps | seconds of the steps |",
        "|---|---:|---:|---:|---:|",
    ]
    for run in runs:
        lines.append(
            f"| {run['side']}, {run['dtype']} | {run['seed']} | {run['held_out'][-1][1]:.4f} | "
            f"{smooth(run['losses'])[-1]:.4f} | {run['seconds']:.1f} |"
        )
    if record["pairs"]:
        lines += [
            "",
            "Both sides in one type and seed, relative differences:",
            "",
            "| type | seed | largest, first 10 steps | largest, all steps | last held-out loss |",
            "|---|---:|---:|---:|---:|",
        ]
    for each in record["pairs"]:
        lines.append(
            f"| {each['dtype']} | {each['seed']} | {each['first_10_difference']:.1e} | {each['difference']:.1e} | "
            f"{each['held_out_difference']:+.1e} |"
        )
    groups = group(runs)
    lines += ["", "Mean held-out losses over the seeds:", ""]
    lines.append("| step | " + " | ".join(f"{side}, {dtype}" for side, dtype in groups) + " |")
    lines.append("|---:" * (len(groups) + 1) + "|")
    means = [held_out(each)[1].mean(axis=0) for each in groups.values()]
    for index, (step, _) in enumerate(runs[0]["held_out"]):
        lines.append(f"| {step} | " + " | ".join(f"{mean[index]:.4f}" for mean in means) + " |")
    return "\n".join(lines) + "\n"
