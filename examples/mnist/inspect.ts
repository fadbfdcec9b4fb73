// Shows what is in a checkpoint, and whether it is whole: `npx tsx examples/mnist/inspect.ts runs/mnist`.
import { describeCheckpoint, inspectCheckpoint } from "hookline/checkpoint";

// A run's directory stands for its newest checkpoint; the path of one checkpoint or of a file of weights works as well.
const [path = "runs/mnist"] = process.argv.slice(2);
console.log(describeCheckpoint(await inspectCheckpoint(path)));
