// Measures what control() adds to a step, in a process where nothing else was compiled or run.
import { controlCost } from "./control-cost.ts";

process.send!(await controlCost(), () => process.disconnect());
