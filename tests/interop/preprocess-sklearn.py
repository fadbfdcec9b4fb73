# scikit-learn's preprocessing of the columns on stdin, with the transforms that the test names.
import json
import sys

try:
    import numpy as np
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        FunctionTransformer,
        LabelEncoder,
        MinMaxScaler,
        OneHotEncoder,
        OrdinalEncoder,
        QuantileTransformer,
        StandardScaler,
    )
except ImportError:
    sys.exit(print("null"))


def numbers(values):
    return np.array([[np.nan if v is None else v] for v in values], dtype=float)


def objects(values):
    return np.array([[v] for v in values], dtype=object)


def dense(x):
    return x.toarray() if hasattr(x, "toarray") else np.asarray(x)


class Hasher(FeatureHasher):
    def transform(self, x):
        return super().transform([[] if row[0] is None else [row[0]] for row in x])


class Text(HashingVectorizer):
    def fit(self, x, y=None):
        return self

    def transform(self, x):
        return super().transform(["" if row[0] is None else row[0] for row in x])


def answer(case):
    estimator = eval(case["estimator"])
    if isinstance(estimator, LabelEncoder):
        estimator.fit(case["train"])
        return {"transformed": [[int(v)] for v in estimator.transform(case["test"])]}
    of = numbers if case["type"] == "number" else objects
    estimator.fit(of(case["train"]))
    transformed = dense(estimator.transform(of(case["test"])))
    result = {"transformed": transformed.astype(float).tolist()}
    if case["inverse"]:
        result["inverse"] = estimator.inverse_transform(np.array(case["inverse"])[:, None])[:, 0].tolist()
    return result


print(json.dumps([answer(case) for case in json.load(sys.stdin)]))
