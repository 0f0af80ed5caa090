"""Configuration of the FileCheck tests, for lit.

Features that a test may require:
  python-numpy   the interpreter %python has NumPy.
Substitutions besides lit's own: %cs336-source (the checkout), %examples, %python.
"""

import os
import subprocess

import lit.formats

config.name = "cs336"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Python", "Runtime", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.cs336_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.cs336_binary_dir, "bin"),
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)
# Colours and progress bars depend on the terminal; two threads are enough for programs this small.
config.environment["OMP_NUM_THREADS"] = "2"

config.substitutions += [
    ("%cs336-source", config.cs336_source_dir),
    ("%examples", os.path.join(config.cs336_source_dir, "examples")),
    ("%python", config.python),
]

if subprocess.run([config.python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
    config.available_features.add("python-numpy")
