// What differs between MPI libraries below the names of their functions: what a handle is, and which values are special.

/** A communicator, a type or an operation, as the library wants it passed. */
export type Handle = number;

export interface MpiAbi {
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
  readonly ops: { readonly sum: Handle; readonly min: Handle; readonly max: Handle };
}

/** Open MPI's handles are the addresses of variables that it exports; `addressOf` finds one. */
export function openMpiAbi(addressOf: (symbol: string) => Handle): MpiAbi {
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
    },
  };
}
