// What a user would write to serve an exported model with onnxruntime-node: each request runs the session once.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Preprocessor, Table } from "hookline/data";
import { parseExact } from "hookline/runs";
import { InferenceSession, Tensor } from "onnxruntime-node";

const folder = process.argv[2]!;
const { preprocessor: json } = parseExact(readFileSync(join(folder, "model.json"), "utf8")) as {
  preprocessor: unknown;
};
const preprocessor = Preprocessor.fromJSON(json);
const session = await InferenceSession.create(join(folder, "model.onnx"));
const [input, output] = [session.inputNames[0]!, session.outputNames[0]!];

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function predict(row: object): Promise<object> {
  const { x } = preprocessor.transform(Table.fromRows([row], preprocessor.inputs), { target: false });
  const { [output]: found } = await session.run({
    [input]: new Tensor("float32", x!.data as Float32Array, [...x!.shape]),
  });
  const decoded = preprocessor.decode({ data: found!.data as Float32Array, shape: [...found!.dims] });
  if (decoded.kind !== "label") return { [decoded.column]: decoded.values[0] };
  const probabilities = Object.entries(decoded.probabilities).map(([name, values]) => [name, values[0]]);
  return { [decoded.column]: decoded.labels[0], probabilities: Object.fromEntries(probabilities) as object };
}

const server = createServer((request, response) => {
  bodyOf(request)
    .then((text) => predict(JSON.parse(text) as object))
    .then(
      (answer) => {
        const body = JSON.stringify(answer);
        response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
        response.end(body);
      },
      (error: unknown) => response.writeHead(500, { "content-length": 0 }).end(String(error)),
    );
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
process.on("SIGTERM", () => process.exit(0));
