import { describe, expect, it } from "vitest";
import { loadLibMpi } from "./libmpi.ts";

describe("loadLibMpi", () => {
  it("says what to install where there is no library", () => {
    expect(() => loadLibMpi(["libmpi-that-is-not-there.so"])).toThrow(
      /finds no MPI library \(libmpi-that-is-not-there\.so: .+\)\. Install Open MPI 4 or 5: `apt-get install openmpi-bin libopenmpi3`/,
    );
  });

  // A library with other names in it stands for MPICH's: what is looked for is not there.
  it.skipIf(process.platform !== "linux")("takes no other MPI for Open MPI", () => {
    expect(() => loadLibMpi(["libc.so.6"])).toThrow(/libc\.so\.6 is not Open MPI's \(MPICH .*\)\. Install Open MPI/);
  });
});
