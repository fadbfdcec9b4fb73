# scikit-learn's ColumnTransformer over the table in a folder, timed once for each line on stdin.
import json
import sys
import time

try:
    import numpy as np
    import pandas as pd
    import sklearn
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        MinMaxScaler,
        OneHotEncoder,
        OrdinalEncoder,
        QuantileTransformer,
        StandardScaler,
    )
except ImportError:
    sys.exit(1)

folder = sys.argv[1]
columns = json.load(open(f"{folder}/columns.json"))


def column(i, c):
    if "names" not in c:
        return np.fromfile(f"{folder}/{i}", dtype=np.float64)
    return np.array(c["names"], dtype=object)[np.fromfile(f"{folder}/{i}", dtype=np.int32)]


frame = pd.DataFrame({c["name"]: column(i, c) for i, c in enumerate(columns)})


def transformer():
    makers = {
        "standardise": StandardScaler,
        "impute": lambda: make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        "minMax": MinMaxScaler,
        "log": lambda: make_pipeline(FunctionTransformer(np.log1p), StandardScaler()),
        "quantile": QuantileTransformer,
        "oneHot": lambda: OneHotEncoder(handle_unknown="ignore"),
        "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    }
    kinds = dict.fromkeys(c["use"] for c in columns)
    return ColumnTransformer(
        [(k, makers[k](), [c["name"] for c in columns if c["use"] == k]) for k in kinds], sparse_threshold=0
    )


print(json.dumps({"version": sklearn.__version__, "rows": len(frame)}), flush=True)
for _ in sys.stdin:
    start = time.perf_counter()
    made = transformer().fit(frame)
    fitted = time.perf_counter()
    x = made.transform(frame).astype(np.float32)
    end = time.perf_counter()
    print(json.dumps({"fit": fitted - start, "transform": end - fitted, "width": x.shape[1]}), flush=True)
