// Starts ranks as `hookline launch` does: its arguments are mpirun's.
import { runMpirun } from "../../src/cli/launch/launch.ts";

process.exitCode = await runMpirun(process.argv.slice(2), true);
