// The MPI library of the machine, called through koffi: found, loaded, and its functions with their types.
import { EngineError } from "../core/errors.ts";
import { koffiOrNone, type Koffi, type KoffiLibrary } from "../platform/koffi.ts";

/** Where the library writes an int, or a request. */
type Out = Int32Array | BigUint64Array;
type Vector = Float32Array | Float64Array | Uint8Array;

/** Each returns MPI's error code, 0 when all is well. */
interface Functions {
  MPI_Init_thread(argc: number, argv: number, level: number, provided: Out): number;
  MPI_Finalize(): number;
  MPI_Abort(comm: Handle, exitCode: number): number;
  MPI_Comm_rank(comm: Handle, rank: Out): number;
  MPI_Comm_size(comm: Handle, size: Out): number;
  MPI_Comm_set_errhandler(comm: Handle, handler: Handle): number;
  MPI_Iallreduce(
    from: number,
    into: Vector,
    count: number,
    type: Handle,
    op: Handle,
    comm: Handle,
    request: Out,
  ): number;
  /** Combines `into` with `from`, in this process. */
  MPI_Reduce_local(from: Vector, into: Vector, count: number, type: Handle, op: Handle): number;
  MPI_Ibcast(bytes: Vector, count: number, type: Handle, root: number, comm: Handle, request: Out): number;
  MPI_Ibarrier(comm: Handle, request: Out): number;
  MPI_Test(request: Out, flag: Out, status: number): number;
  MPI_Isend(from: Vector, count: number, type: Handle, to: number, tag: number, comm: Handle, request: Out): number;
  MPI_Request_free(request: Out): number;
  MPI_Iprobe(from: number, tag: number, comm: Handle, flag: Out, status: number): number;
  MPI_Recv(into: Vector, count: number, type: Handle, from: number, tag: number, comm: Handle, status: number): number;
  MPI_Error_string(code: number, text: Uint8Array, length: Out): number;
}

export interface LibMpi extends Functions {
  readonly abi: MpiAbi;
}

/** By the names that Open MPI 4 and 5 install, then MPICH's, so that an error can say that this is what is there. */
const NAMES = ["libmpi.so.40", "libmpi.40.dylib", "libmpi.so", "libmpi.dylib", "libmpi.so.12"];

const INSTALL = "Install Open MPI 4 or 5: `apt-get install openmpi-bin libopenmpi3`, or load your cluster's module.";

export function loadLibMpi(names: readonly string[] = NAMES): LibMpi {
  const koffi = loadKoffi();
  const library = openLibrary(koffi, names);
  const abi = openMpiAbi((name) => Number(koffi.address(library.symbol(name))));
  const signatures = signaturesFor(abi.handle);
  const functions = Object.entries(signatures).map(([name, args]) => [name, library.func(name, "int", args)]);
  return { abi, ...(Object.fromEntries(functions) as Functions) };
}

function signaturesFor(handle: string): Record<keyof Functions, string[]> {
  const out = "void *";
  const memory = "void *";
  // Special values, such as MPI_IN_PLACE, stand where an address would.
  const address = "intptr_t";
  return {
    MPI_Init_thread: [address, address, "int", out],
    MPI_Finalize: [],
    MPI_Abort: [handle, "int"],
    MPI_Comm_rank: [handle, out],
    MPI_Comm_size: [handle, out],
    MPI_Comm_set_errhandler: [handle, handle],
    MPI_Iallreduce: [address, memory, "int", handle, handle, handle, out],
    MPI_Reduce_local: [memory, memory, "int", handle, handle],
    MPI_Ibcast: [memory, "int", handle, "int", handle, out],
    MPI_Ibarrier: [handle, out],
    MPI_Test: [out, out, address],
    MPI_Isend: [memory, "int", handle, "int", "int", handle, out],
    MPI_Request_free: [out],
    MPI_Iprobe: ["int", "int", handle, out, address],
    MPI_Recv: [memory, "int", handle, "int", "int", handle, address],
    MPI_Error_string: ["int", out, out],
  };
}

export function loadKoffi(): Koffi {
  const koffi = koffiOrNone();
  if (koffi) return koffi;
  throw new EngineError(
    `Strategy "mpi" calls MPI through koffi, which is not there. Get it with \`npm install koffi@3.3\`.`,
  );
}

function openLibrary(koffi: Koffi, names: readonly string[]): KoffiLibrary {
  let failure = "";
  for (const name of names) {
    let library: KoffiLibrary;
    try {
      // Open MPI loads plugins of its own, which look for its names among the global ones.
      library = koffi.load(name, { global: true });
    } catch (error) {
      failure = (error as Error).message;
      continue;
    }
    if (isOpenMpi(library)) return library;
    throw new EngineError(
      `Strategy "mpi": ${name} is not Open MPI's (MPICH and its kin have handles of another kind, which hookline does not speak). ${INSTALL}`,
    );
  }
  throw new EngineError(`Strategy "mpi" finds no MPI library (${names.join(", ")}: ${failure}). ${INSTALL}`);
}

function isOpenMpi(library: KoffiLibrary): boolean {
  try {
    return library.symbol("ompi_mpi_comm_world") !== null;
  } catch {
    return false;
  }
}

// What differs between MPI libraries below the names of their functions: what a handle is, and which values are special.

/** A communicator, a type or an operation, as the library wants it passed. */
type Handle = number;

interface MpiAbi {
  readonly name: string;
  /** The C type of a handle. */
  readonly handle: "intptr_t" | "int";
  readonly inPlace: number;
  readonly ignoreStatus: number;
  readonly anySource: number;
  /** The level at which one thread at a time calls, whichever it is. */
  readonly serialized: number;
  readonly world: Handle;
  readonly errorsReturn: Handle;
  readonly types: { readonly float32: Handle; readonly float64: Handle; readonly byte: Handle };
  readonly ops: { readonly sum: Handle; readonly min: Handle; readonly max: Handle; readonly product: Handle };
}

/** Open MPI's handles are the addresses of variables that it exports; `addressOf` finds one. */
function openMpiAbi(addressOf: (symbol: string) => Handle): MpiAbi {
  return {
    name: "Open MPI",
    handle: "intptr_t",
    inPlace: 1,
    ignoreStatus: 0,
    anySource: -1,
    serialized: 2,
    world: addressOf("ompi_mpi_comm_world"),
    errorsReturn: addressOf("ompi_mpi_errors_return"),
    types: {
      float32: addressOf("ompi_mpi_float"),
      float64: addressOf("ompi_mpi_double"),
      byte: addressOf("ompi_mpi_byte"),
    },
    ops: {
      sum: addressOf("ompi_mpi_op_sum"),
      min: addressOf("ompi_mpi_op_min"),
      max: addressOf("ompi_mpi_op_max"),
      product: addressOf("ompi_mpi_op_prod"),
    },
  };
}
