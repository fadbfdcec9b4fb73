// A program: W&B's and MLflow's service on this machine, as far as a run needs it. Says its port. With the argument "half"
// it is down half of the time.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const isHalf = process.argv[2] === "half";
const bucket = { project: { name: "bench", entity: { name: "bench" } } };
const ANSWERS: readonly (readonly [path: RegExp, answer: object])[] = [
  [/graphql/, { data: { upsertBucket: { bucket } } }],
  [/experiments\/get-by-name/, { experiment: { experiment_id: "0" } }],
  [/runs\/create/, { run: { info: { run_id: "1" } } }],
];

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    if (isHalf && Math.random() < 0.5) {
      if (Math.random() < 0.5) request.socket.destroy();
      else response.writeHead(503).end();
      return;
    }
    const [, answer = {}] = ANSWERS.find(([path]) => path.test(request.url ?? "")) ?? [];
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.stdin.resume().on("end", () => process.exit(0));
