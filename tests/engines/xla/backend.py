# XLA's CPU client behind the test plugin: compiles and runs StableHLO that arrives on stdin.
import os
import struct
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
# Sums in one order, so that the same program gives the same bits.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)

import jax
import numpy as np
from jax._src import xla_bridge
from jax._src.interpreters import mlir as jmlir
from jax._src.lib import xla_client
from jax._src.lib.mlir import ir

TYPES = {1: np.bool_, 4: np.int32, 8: np.uint32, 11: np.float32}
client = xla_bridge.get_backend("cpu")
device = client.local_devices()[0]
devices = xla_client.DeviceList((device,))
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
            programs.append(client.compile_and_load(module, devices, xla_client.CompileOptions()))
    except Exception as error:
        send_error(error)
        return
    known[text] = len(programs) - 1
    send(0)
    send(known[text])


def serialize():
    try:
        data = client.serialize_executable(programs[number()])
    except Exception as error:
        send_error(error)
        return
    send(0)
    send(len(data))
    sink.write(data)


def load():
    data = source.read(number())
    try:
        programs.append(client.deserialize_executable(data, devices, xla_client.CompileOptions()))
    except Exception as error:
        send_error(error)
        return
    send(0)
    send(len(programs) - 1)


def execute():
    program = programs[number()]
    given = []
    for _ in range(number()):
        kind = TYPES[number()]
        shape = [number() for _ in range(number())]
        count = int(np.prod(shape, dtype=np.int64))
        data = np.frombuffer(source.read(count * np.dtype(kind).itemsize), dtype=kind).reshape(shape)
        given.append(jax.device_put(data, device))
    try:
        results = [np.ascontiguousarray(np.asarray(result)) for result in program.execute(given)]
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
