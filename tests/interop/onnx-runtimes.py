# Checks exported ONNX models: python3 onnx-runtimes.py <dir>, where each folder has a model.onnx and a cases.json.
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

TOLERANCE = 1e-5


def array(given):
    return np.array(given["data"], dtype=given["type"]).reshape(given["shape"])


def differences(folder):
    file = folder / "model.onnx"
    onnx.checker.check_model(onnx.load(file), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    described = json.loads((folder / "cases.json").read_text())
    names = [output.name for output in session.get_outputs()]
    for case in described["cases"]:
        got = session.run(None, {name: array(value) for name, value in case["batch"].items()})
        for name, value in zip(names, got):
            wanted = array(case["expected"][name])
            close = value.shape == wanted.shape and np.allclose(value, wanted, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
            if not close:
                yield f"{described['name']}: {name} differs"


folders = sorted(path for path in pathlib.Path(sys.argv[1]).iterdir() if path.is_dir())
found = [each for folder in folders for each in differences(folder)]
for each in found:
    print(each)
print(f"{len(folders)} models, {len(found)} differences")
