"""Writes tensors for the programs of these tests: `tensors.py FOLDER`."""

import json
import pathlib
import struct
import sys

import numpy as np


def write_safetensors(path: pathlib.Path, tensors: dict[str, np.ndarray]) -> None:
    """Write float32 tensors by the format's description: an 8-byte length, a JSON header, the data."""
    header, data = {}, b""
    for name, value in tensors.items():
        begin = len(data)
        data += value.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": value.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ids = np.array([0, 1, 2, 4])
    targets = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.savez(folder / "batch.npz", ids=ids, targets=targets)
    np.save(folder / "ids.npy", ids.astype(np.int32))
    np.save(folder / "other.npy", ids)
    np.savez(folder / "missing.npz", ids=ids)
    np.savez(folder / "extra.npz", ids=ids, targets=targets, tokens=ids)
    np.savez(folder / "shape.npz", ids=ids, targets=targets.T)
    np.savez(folder / "type.npz", ids=ids, targets=targets.astype(np.float64))
    np.savez(folder / "range.npz", ids=ids + 1, targets=targets)
    (folder / "truncated.npz").write_bytes((folder / "batch.npz").read_bytes()[:-40])

    parameters = {"table": np.arange(15, dtype=np.float32).reshape(5, 3), "w": np.eye(2, 3, dtype=np.float32)}
    write_safetensors(folder / "params.safetensors", parameters)
    write_safetensors(folder / "params-missing.safetensors", {"w": parameters["w"]})
    write_safetensors(folder / "params-extra.safetensors", parameters | {"bias": np.zeros(2, np.float32)})
    write_safetensors(folder / "params-shape.safetensors", parameters | {"w": np.zeros((3, 2), np.float32)})
    whole = (folder / "params.safetensors").read_bytes()
    (folder / "params-truncated.safetensors").write_bytes(whole[:-4])


if __name__ == "__main__":
    main()
