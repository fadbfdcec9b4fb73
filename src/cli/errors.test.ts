// What a command says about an address that its server cannot have.
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { portNumber } from "./command.ts";
import { listenError, UsageError } from "./errors.ts";

test.each(["0", "8000", "65535"])("%s is a port", (text) => expect(portNumber(text)).toBe(Number(text)));
test.each(["65536", "99999", "1e3", "-1", "80.5", ""])("%j is none", (text) =>
  expect(() => portNumber(text)).toThrow("Expected a port from 0 to 65535."),
);

test.each(["nowhere.invalid", "a\u0007b", "203.0.113.1"])("no machine has the address %j", async (host) => {
  const server = createServer();
  const error = await new Promise((resolve) => server.on("error", resolve).listen(0, host));
  expect(listenError(error, host, 0)).toBeInstanceOf(UsageError);
});
