import { run } from "./gradient-monitor.ts";
import { print } from "./lib/report.ts";
print(await run());
