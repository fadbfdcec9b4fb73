# Reads cases from standard input, one JSON text per line, and writes what Python makes of each.
import csv, io, json, math, sys
import pandas

MISSING = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL", "None"]


def read(text):
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row != []]


def rows_of(text):
    # Python takes the end of the file for the closing quote.
    ended = read(text + "\nZ")[-1] == ["Z"]
    return {"ended": ended, "rows": read(text)}


def plain(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value.item() if hasattr(value, "item") else value


def table_of(text):
    frame = pandas.read_csv(
        io.StringIO(text), keep_default_na=False, na_values=MISSING, float_precision="round_trip"
    )
    return {name: [plain(value) for value in frame[name].astype(object)] for name in frame.columns}


for line in sys.stdin:
    case = json.loads(line)
    print(json.dumps(rows_of(case["text"]) if case["as"] == "rows" else table_of(case["text"])))
