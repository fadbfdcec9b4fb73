// A study with local processes in a directory, to be killed: run compiled, with { dir, home, trials, concurrency, sampler }.
import { killedStudy, type KilledStudy } from "./killed-study.ts";

const options = JSON.parse(process.argv[2]!) as KilledStudy;
const { status } = await killedStudy(options).run();
console.log(JSON.stringify({ note: "done", status }));
