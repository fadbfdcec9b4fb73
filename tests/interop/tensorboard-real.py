"""TensorBoard itself reads what was written. For any Python with tensorboard 2.21 or later (pip install tensorboard):

npx tsx tests/interop/tensorboard-run.ts /tmp/tb && python tests/interop/tensorboard-real.py /tmp/tb

Three ways in: EventAccumulator, as scripts use it, and TensorBoard's web server with each of its two loaders (the
Python one, and the data server in Rust where that is installed), asked as the page in a browser asks.
"""

import importlib.util
import io
import json
import logging
import os
import sys
import time
import urllib.parse
import urllib.request

import tensorboard
from PIL import Image
from tensorboard import program
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

folder = sys.argv[1]
with open(os.path.join(folder, "expected.json")) as file:
    EXPECTED = json.load(file)
MODES = {1: "L", 3: "RGB", 4: "RGBA"}
STATUS = {"success": "STATUS_SUCCESS", "failure": "STATUS_FAILURE"}
counts = {}


def same(kind, found, wanted, items=1):
    assert found == wanted, "%s: found %s, wanted %s" % (kind, str(found)[:300], str(wanted)[:300])
    counts[kind] = counts.get(kind, 0) + items


def number(value):
    """As expected.json has it: NaN and its like are texts."""
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(float(value)), float(value))


def scalars(wanted):
    return [(step, seconds, value) for step, seconds, value in wanted]


def pixels(png, channels):
    image = Image.open(io.BytesIO(png))
    assert image.mode == MODES[channels], image.mode
    return [*image.size, [*image.tobytes()]]


def accumulator(name, run):
    """The reader of most scripts. It drops repeated steps of scalars and images only; tensors are checked further on."""
    events = event_accumulator.EventAccumulator(
        os.path.join(folder, name), {key: 0 for key in event_accumulator.DEFAULT_SIZE_GUIDANCE}
    ).Reload()
    tags = events.Tags()
    same("tags", sorted(tags["scalars"]), sorted(run["scalars"]))
    same("tags", sorted(tags["images"]), sorted(run["images"]))
    for tag, wanted in run["scalars"].items():
        found = [(event.step, event.wall_time, number(event.value)) for event in events.Scalars(tag)]
        same("scalars", found, scalars(wanted), len(wanted))
    for tag, wanted in run["images"].items():
        found = events.Images(tag)
        same("steps", [event.step for event in found], [step for step, _ in wanted])
        for event, (_, image) in zip(found, wanted):
            same("sizes", (event.width, event.height), (image["width"], image["height"]))
            shown = pixels(event.encoded_image_string, image["channels"])
            same("images", shown, [image["width"], image["height"], image["pixels"]])
    last = {tag: {event.step: event.tensor_proto for event in events.Tensors(tag)} for tag in tags["tensors"]}
    for tag, wanted in run["histograms"].items():
        for step, rows in wanted:
            same("histograms", tensor_util.make_ndarray(last[tag][step]).tolist(), rows)
    for tag, wanted in run["texts"].items():
        for step, text in wanted:
            same("texts", tensor_util.make_ndarray(last[tag][step]).item().decode(), text)
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    found = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    values = {name: getattr(value, value.WhichOneof("kind")) for name, value in found.items()}
    same("hparams", values, run["hparams"], len(values))


class Server:
    """TensorBoard as it runs for a user, and what its page asks it."""

    def __init__(self, fast):
        self.board = program.TensorBoard()
        hints = "--samples_per_plugin=scalars=9999,histograms=9999,images=9999,text=9999"
        loader = "--load_fast=%s" % ("true" if fast else "false")
        self.board.configure(argv=["tensorboard", "--logdir", folder, "--port", "0", hints, loader])
        self.url = self.board.launch() + "data/plugin/"
        deadline = time.time() + 60
        while not self.loaded():
            assert time.time() < deadline, "TensorBoard did not load the runs"
            time.sleep(0.2)

    def ask(self, path, body=None, raw=False, **query):
        url = self.url + path + ("?" + urllib.parse.urlencode(query) if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"} if data else {})
        with urllib.request.urlopen(request) as answer:
            content = answer.read()
        return content if raw else json.loads(content)

    def groups(self):
        statuses = ["STATUS_UNKNOWN", "STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_RUNNING"]
        body = {"experimentName": "", "allowedStatuses": statuses, "colParams": [], "startIndex": 0, "sliceSize": 99}
        return {group["name"]: group for group in self.ask("hparams/session_groups", body).get("sessionGroups", [])}

    def loaded(self):
        """All runs are there with their last scalar, and the end of each session."""
        tags = self.ask("scalars/tags")
        for name, run in EXPECTED.items():
            if set(tags.get(name, {})) != set(run["scalars"]):
                return False
            loss = self.ask("scalars/scalars", run=name, tag="loss")
            if not loss or loss[-1][1] != run["scalars"]["loss"][-1][0]:
                return False
        groups = self.groups()
        return all(name in groups and "status" in groups[name]["sessions"][0] for name in EXPECTED)


def served(server, name, run):
    for tag, wanted in run["scalars"].items():
        found = server.ask("scalars/scalars", run=name, tag=tag)
        same("scalars", [(step, seconds, number(value)) for seconds, step, value in found], scalars(wanted), len(wanted))
    same("tags", set(server.ask("histograms/tags").get(name, {})), set(run["histograms"]))
    for tag, wanted in run["histograms"].items():
        found = server.ask("histograms/histograms", run=name, tag=tag)
        same("histograms", [[step, rows] for _, step, rows in found], wanted, len(wanted))
    same("tags", set(server.ask("text/tags").get(name, [])), set(run["texts"]))
    for tag, wanted in run["texts"].items():
        found = server.ask("text/text", run=name, tag=tag)
        same("steps", [item["step"] for item in found], [step for step, _ in wanted])
        # It has become HTML: the table and the words in bold are there.
        for item, (step, _) in zip(found, wanted):
            same("texts", "<table>" in item["text"] and "<strong>%d</strong>: grüße" % step in item["text"], True)
    same("tags", set(server.ask("images/tags").get(name, {})), set(run["images"]))
    for tag, wanted in run["images"].items():
        found = server.ask("images/images", run=name, tag=tag, sample=0)
        same("steps", [item["step"] for item in found], [step for step, _ in wanted])
        for item, (_, image) in zip(found, wanted):
            png = server.ask("images/individualImage?" + item["query"], raw=True)
            same("images", pixels(png, image["channels"]), [image["width"], image["height"], image["pixels"]])


def hparams_tab(server):
    columns = {info["name"] for info in server.ask("hparams/experiment", {"experimentName": ""})["hparamInfos"]}
    same("columns", columns, {name for run in EXPECTED.values() for name in run["hparams"]}, len(columns))
    groups = server.groups()
    for name, run in EXPECTED.items():
        same("hparams", groups[name]["hparams"], run["hparams"], len(run["hparams"]))
        same("statuses", groups[name]["sessions"][0]["status"], STATUS[run["status"]])
        metrics = {metric["name"]["tag"]: metric["value"] for metric in groups[name]["metricValues"]}
        same("metrics", metrics, {tag: points[-1][2] for tag, points in run["scalars"].items()}, len(metrics))


def report(way):
    print("%s: %s" % (way, ", ".join("%d %s" % (n, kind) for kind, n in sorted(counts.items()))))
    counts.clear()


logging.getLogger("werkzeug").setLevel(logging.ERROR)
print("tensorboard %s" % tensorboard.__version__)
for name, run in EXPECTED.items():
    accumulator(name, run)
report("EventAccumulator")
for fast in (False, True):
    if fast and not importlib.util.find_spec("tensorboard_data_server"):
        print("web server, data server: not installed")
        continue
    server = Server(fast)
    for name, run in EXPECTED.items():
        served(server, name, run)
    hparams_tab(server)
    report("web server, %s" % ("data server" if fast else "Python loader"))
print("all read back")
sys.stdout.flush()
os._exit(0)
