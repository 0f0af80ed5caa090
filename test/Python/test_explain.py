"""The output of `cs336-bench explain` agrees with a profile and, on a GPU, with the driver."""

from __future__ import annotations

import ctypes
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from device import DEVICE, times_kernels

MODEL = ["--size", "tiny", "--context-length", "32", "--vocab-size", "100", "--batch-size", "2", "--mode", "train"]
STEPS = 4

# Attributes of functions and devices in cuda.h.
SHARED_BYTES, LOCAL_BYTES, REGISTERS, MAX_DYNAMIC_SHARED_BYTES = 1, 3, 4, 8
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76


def bench(*arguments: str) -> dict[str, Any]:
    """Return the JSON that cs336-bench writes for the device."""
    command = ["cs336-bench", *arguments, *MODEL, "--device", DEVICE, "--format", "json"]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


@times_kernels
def test_measured_times_are_those_of_the_profile(tmp_path: Path) -> None:
    record = bench("model", "--profile", "--steps", str(STEPS), "--warmup", "1", "--no-mfu")
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    kernels = bench("explain", "--profile-json", str(path))["results"]
    total: dict[str, float] = {}
    instances: dict[str, int] = {}
    for row in record["results"][0]["profile"]:
        total[row["name"]] = total.get(row["name"], 0) + row["total_ns"]
        instances[row["name"]] = instances.get(row["name"], 0) + row["instances"]
    launched = 0
    for kernel in kernels:
        launches = sum(each["launches"] for each in kernel["launched_for"] if each["entry"] == "train")
        if launches == 0:
            assert kernel["measured_us"] is None, kernel["kernel"]
            continue
        launched += 1
        names = {kernel["kernel"], *(function["function"] for function in kernel["functions"])} & total.keys()
        expected = sum(total[name] for name in names) / STEPS / launches / 1e3
        assert kernel["measured_us"] == pytest.approx(expected, rel=1e-6), kernel["kernel"]
        assert all(instances[name] == STEPS * launches for name in names), kernel["kernel"]
    assert launched > 10


class Driver:
    """The functions of the CUDA driver that describe machine code."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.device = device

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; its errors are failures."""
        assert getattr(self.library, name)(*arguments) == 0, name

    def read(self, name: str, *arguments: Any) -> int:
        """Call a function whose first parameter is a number that it writes."""
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def architecture(self) -> str:
        """Return the device's architecture, without a suffix: "sm_90"."""
        major, minor = (
            self.read("cuDeviceGetAttribute", name, self.device) for name in (CAPABILITY_MAJOR, CAPABILITY_MINOR)
        )
        return f"sm_{major}{minor}"


@pytest.mark.skipif(DEVICE == "cpu", reason="needs a GPU: CS336_TEST_DEVICE=cuda")
def test_resources_and_occupancy_are_those_of_the_driver(tmp_path: Path) -> None:
    driver = Driver()
    program = tmp_path / "model.mlir"
    translate = ["cs336-translate", "--import-transformer", *MODEL, "-o", str(program)]
    subprocess.run(translate, check=True)
    compile_it = ["cs336-translate", "--emit-executable", str(program), "--device", "cuda", "--dump-dir", str(tmp_path)]
    subprocess.run([*compile_it, "-o", str(tmp_path / "model.cs336x")], check=True)
    checked = 0
    for kernel in bench("explain")["results"]:
        for function in kernel["functions"]:
            if function["architecture"].rstrip("af") != driver.architecture():
                continue
            image = (tmp_path / "kernels" / f"{kernel['kernel']}.{function['architecture']}.cubin").read_bytes()
            module, handle = ctypes.c_void_p(), ctypes.c_void_p()
            driver.call("cuModuleLoadData", ctypes.byref(module), image)
            driver.call("cuModuleGetFunction", ctypes.byref(handle), module, function["function"].encode())
            dynamic = function["dynamic_shared_bytes"]
            driver.call("cuFuncSetAttribute", handle, MAX_DYNAMIC_SHARED_BYTES, dynamic)
            for key, attribute in (
                ("registers", REGISTERS),
                ("local_bytes", LOCAL_BYTES),
                ("static_shared_bytes", SHARED_BYTES),
            ):
                assert function[key] == driver.read("cuFuncGetAttribute", attribute, handle), (
                    function["function"],
                    key,
                )
            blocks = driver.read(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor", handle, function["threads"], ctypes.c_size_t(dynamic)
            )
            assert function["blocks_per_multiprocessor"] == blocks, function["function"]
            driver.call("cuModuleUnload", module)
            checked += 1
    assert checked > 10
