"""Configuration of the FileCheck tests, for lit.

Features that a test may require:
  python-numpy   the interpreter %python has NumPy.
  nvrtc          NVIDIA's runtime compiler is installed (a CUDA 13 toolkit, or wheels in %python's environment).
Substitutions besides lit's own: %cs336-source (the checkout), %examples, %python.
"""

import os
import pathlib
import subprocess

import lit.formats

config.name = "cs336"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Fuzz", "Inputs", "Python", "Runtime", "lib"]
config.test_source_root = str(pathlib.Path(__file__).parent)
config.test_exec_root = f"{config.cs336_binary_dir}/test"

config.environment["PATH"] = os.pathsep.join(
    [
        f"{config.cs336_binary_dir}/bin",
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)
# Colours and progress bars depend on the terminal; two threads are enough for programs this small.
config.environment["OMP_NUM_THREADS"] = "2"
# Nothing outside the build folder.
config.environment["CS336_CACHE_DIR"] = f"{config.cs336_binary_dir}/test/cache"

config.substitutions += [
    ("%cs336-source", config.cs336_source_dir),
    ("%fake-driver", f"{config.cs336_binary_dir}/test/Runtime/fake_cuda"),
    ("%fake-nvrtc", f"{config.cs336_binary_dir}/test/Target/CUDA/fake_nvrtc"),
    ("%examples", f"{config.cs336_source_dir}/examples"),
    ("%python", config.python),
]

if subprocess.run([config.python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
    config.available_features.add("python-numpy")

# Where cs336-nvrtc-check looks for the compiler: a toolkit, and the environment that the wheels are installed in.
if "CUDA_HOME" in os.environ:
    config.environment["CUDA_HOME"] = os.environ["CUDA_HOME"]
config.environment["VIRTUAL_ENV"] = str(pathlib.Path(config.python).parent.parent)
probe = subprocess.run(
    ["cs336-nvrtc-check", "--probe"], env=config.environment, capture_output=True, text=True, check=False
)
if probe.returncode == 0:
    config.available_features.add("nvrtc")
elif config.require_nvrtc:
    lit_config.fatal(probe.stderr.strip())
else:
    lit_config.note("tests that require nvrtc are skipped: " + probe.stderr.strip())
