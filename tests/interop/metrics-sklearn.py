"""Computes metrics with scikit-learn for metrics-sklearn.test.ts: cases as JSON on stdin, values as JSON on stdout."""
import json
import sys
import warnings

import numpy as np
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve

warnings.filterwarnings("ignore")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def scores(y, p, w, averages):
    found = {}
    for i, average in enumerate(averages):
        found[f"f1 {average}"] = sk.f1_score(y, p, average=average, sample_weight=w, zero_division=0)
        if i == 0:
            found[f"precision {average}"] = sk.precision_score(y, p, average=average, sample_weight=w, zero_division=0)
        if i == 1:
            found[f"recall {average}"] = sk.recall_score(y, p, average=average, sample_weight=w, zero_division=0)
    return found


def by_class(y, p, w, classes):
    each = sk.f1_score(y, p, average=None, labels=list(range(classes)), sample_weight=w, zero_division=0)
    return {f"f1 by class/{i}": value for i, value in enumerate(each)}


def calibration(hit, sure, w, bins=15):
    """The definition: over bins of scikit-learn's calibration_curve, which takes no weights."""
    at = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], sure)
    total = 0
    for b in range(bins):
        inside = at == b
        if inside.any():
            total += abs((w[inside] * hit[inside]).sum() - (w[inside] * sure[inside]).sum())
    if np.all(w == 1):
        true, predicted = calibration_curve(hit, sure, n_bins=bins)
        counts = np.array([np.sum(at == b) for b in range(bins) if np.any(at == b)])
        assert np.isclose(total, (counts * np.abs(true - predicted)).sum())
    return total / w.sum()


def binary(y, sure, chosen, w):
    found = {
        "accuracy": sk.accuracy_score(y, chosen, sample_weight=w),
        "logLoss": sk.log_loss(y, sure, sample_weight=w, labels=[0, 1]),
        "calibrationError": calibration(y, sure, w),
        "averagePrecision": sk.average_precision_score(y, sure, sample_weight=w),
        **scores(y, chosen, w, ["binary", "macro", "micro", "weighted"]),
        **by_class(y, chosen, w, 2),
        "confusion": sk.confusion_matrix(y, chosen, labels=[0, 1], sample_weight=w).flatten().tolist(),
    }
    if 0 < y.sum() < len(y):
        found["rocAuc"] = sk.roc_auc_score(y, sure, sample_weight=w)
    return found


def logit(x, y, w):
    x, y = x[:, 0], y[:, 0]
    return binary(y, sigmoid(x), (x > 0).astype(int), w)


def two(x, y, w):
    return {**binary(y, softmax(x)[:, 1], (x[:, 1] > x[:, 0]).astype(int), w)}


def classes(x, y, w):
    count = x.shape[1]
    p, chosen = softmax(x), x.argmax(axis=1)
    found = {
        "accuracy": sk.accuracy_score(y, chosen, sample_weight=w),
        "top2": sk.top_k_accuracy_score(y, x, k=2, labels=list(range(count)), sample_weight=w),
        "logLoss": sk.log_loss(y, p, sample_weight=w, labels=list(range(count))),
        "calibrationError": calibration((chosen == y).astype(float), p.max(axis=1), w),
        **scores(y, chosen, w, ["macro", "micro", "weighted"]),
        **by_class(y, chosen, w, count),
        "confusion": sk.confusion_matrix(y, chosen, labels=list(range(count)), sample_weight=w).flatten().tolist(),
    }
    if len(set(y)) == count:
        hot = np.eye(count)[y]
        found["rocAuc"] = sk.roc_auc_score(y, p, multi_class="ovr", sample_weight=w)
        found["rocAuc weighted"] = sk.roc_auc_score(hot, p, average="weighted", sample_weight=w)
        found["averagePrecision"] = sk.average_precision_score(hot, p, sample_weight=w)
        found["balanced"] = sk.balanced_accuracy_score(y, chosen, sample_weight=w)
    return found


def labels(x, y, w):
    chosen = (x > 0).astype(int)
    found = {
        "accuracy": np.average((chosen == y).mean(axis=1), weights=w),
        **scores(y, chosen, w, ["macro", "micro", "weighted"]),
    }
    if all(0 < column.sum() < len(column) for column in y.T):
        found["rocAuc"] = sk.roc_auc_score(y, x, sample_weight=w)
        found["averagePrecision"] = sk.average_precision_score(y, x, sample_weight=w)
    return found


def regression(x, y, w):
    return {
        "mae": sk.mean_absolute_error(y, x, sample_weight=w),
        "rmse": sk.mean_squared_error(y.flatten(), x.flatten(), sample_weight=np.repeat(w, x.shape[1]), squared=False),
        "mape": sk.mean_absolute_percentage_error(y, x, sample_weight=w),
        "r2": sk.r2_score(y, x, sample_weight=w),
    }


def retrieval(x, y, w):
    return {"ndcg": sk.ndcg_score(y, x, sample_weight=w), "ndcg3": sk.ndcg_score(y, x, k=3, sample_weight=w)}


def item(x, y, w):
    """With one relevant item, the mean reciprocal rank is scikit-learn's label ranking average precision."""
    hot = np.eye(x.shape[1])[y]
    return {
        "mrr": sk.label_ranking_average_precision_score(hot, x, sample_weight=w),
        "ndcg": sk.ndcg_score(hot, x, sample_weight=w),
    }


def run(case):
    x = np.array(case["x"], dtype=np.float64).reshape(case["shape"])
    y = np.array(case["y"]).reshape(case["yShape"])
    w = np.array(case["weight"], dtype=np.float64) if case["weight"] else np.ones(len(x))
    return globals()[case["kind"]](x, y, w)


print(json.dumps([run(case) for case in json.load(sys.stdin)]))
