import { run } from "./nan-guard.ts";
import { print } from "./lib/report.ts";
print(await run());
