# XLA's CPU client behind the test plugin: compiles and runs StableHLO that arrives on stdin.
import os
import re
import struct
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# Sums in one order, so that the same program gives the same bits.
count = int(os.environ.get("HOOKLINE_TEST_PJRT_DEVICES", "1"))
os.environ["XLA_FLAGS"] = (
    f"--xla_cpu_multi_thread_eigen=false --xla_force_host_platform_device_count={count}"
)
source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax._src import xla_bridge
from jax._src.interpreters import mlir as jmlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

TYPES = {1: np.bool_, 4: np.int32, 8: np.uint32, 11: np.float32}
client = xla_bridge.get_backend("cpu")
# Each with its devices, and which of its arguments have rows that are divided between these.
programs = []
# Trainers of one process compile the same programs over and over.
known = {}


def number():
    data = source.read(8)
    if len(data) < 8:
        sys.exit(0)
    return struct.unpack("<Q", data)[0]


def send(value):
    sink.write(struct.pack("<Q", value))


def send_error(error):
    text = str(error).encode() or b"unknown"
    send(len(text))
    sink.write(text)


def placement(text):
    mesh = re.search(r'sdy.mesh @devices = <\["rows"=(\d+)\]>', text)
    n = int(mesh.group(1)) if mesh else 1
    options = xla_client.CompileOptions()
    if n > 1:
        build = options.executable_build_options
        build.num_partitions = n
        build.use_spmd_partitioning = True
        build.use_shardy_partitioner = True
    arguments = re.findall(r"%(?:arg|table)\d+: tensor<[^>]*>([^%]*)", text[: text.index("-> (")])
    return tuple(client.local_devices()[:n]), options, ['{"rows"}' in one for one in arguments]


def compile_program():
    text = source.read(number()).decode()
    if text in known:
        send(0)
        send(known[text])
        return
    try:
        with jmlir.make_ir_context():
            module = ir.Module.parse(text)
            module.operation.verify()
            devices, options, divided = placement(text)
            compiled = client.compile_and_load(module, xla_client.DeviceList(devices), options)
            programs.append((compiled, devices, divided))
    except Exception as error:
        send_error(error)
        return
    known[text] = len(programs) - 1
    send(0)
    send(known[text])


def serialize():
    try:
        data = client.serialize_executable(programs[number()][0])
    except Exception as error:
        send_error(error)
        return
    send(0)
    send(len(data))
    sink.write(data)


def load():
    text = source.read(number()).decode()
    data = source.read(number())
    try:
        devices, options, divided = placement(text)
        loaded = client.deserialize_executable(data, xla_client.DeviceList(devices), options)
        programs.append((loaded, devices, divided))
    except Exception as error:
        send_error(error)
        return
    send(0)
    send(len(programs) - 1)


def array():
    kind = TYPES[number()]
    shape = [number() for _ in range(number())]
    size = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(source.read(size * np.dtype(kind).itemsize), dtype=kind).reshape(shape)


def execute():
    program, devices, divided = programs[number()]
    mesh = Mesh(np.array(devices), ("rows",))
    given = []
    for i in range(number()):
        parts = [jax.device_put(array(), device) for device in devices]
        shape = list(parts[0].shape)
        if divided[i]:
            shape[0] *= len(devices)
        sharding = NamedSharding(mesh, PartitionSpec("rows") if divided[i] else PartitionSpec())
        given.append(jax.make_array_from_single_device_arrays(tuple(shape), sharding, parts))
    try:
        made = program.execute_sharded(given).disassemble_into_single_device_arrays()
        results = [np.ascontiguousarray(np.asarray(one)) for result in made for one in result]
    except Exception as error:
        send_error(error)
        return
    send(0)
    for result in results:
        send(result.nbytes)
        sink.write(result.tobytes())


ORDERS = {"C": compile_program, "S": serialize, "L": load, "X": execute}
while True:
    ORDERS[chr(number())]()
    sink.flush()
