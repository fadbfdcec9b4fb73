// Who may take a study, told by a Redis of one key: what the real one does to workers is in tests/tune.
import { spawnSync } from "node:child_process";
import type { Redis } from "ioredis";
import { expect, test } from "vitest";
import { thisProcess } from "../../../runs/liveness.ts";
import { stringifyExact } from "../../../runs/exact-json.ts";
import { ClaimKey, type Claim } from "./claim.ts";
import { DroppedMessages, Inbox, Signer } from "./inbox.ts";

const claim = (run: string, changes: Partial<Claim> = {}): Claim => ({
  ...thisProcess(),
  run,
  lockMs: 1000,
  trial: "trial.ts#trial",
  modules: ["trial.ts#trial"],
  code: { hookline: "1", trial: "abc" },
  dir: undefined,
  ...changes,
});

/** A holder that keeps prolonging it, as one that lives does. */
function heldBy(holder: Claim): Redis {
  let text: string | null = stringifyExact(holder);
  let left = 500;
  const client = {
    get: async () => text,
    pttl: async () => left++,
    async eval(_script: string, _keys: number, _key: string, mine: string, _ms: number, instead: string) {
      if (text !== null && text !== mine && text !== instead) return 0;
      text = mine;
      return 1;
    },
  };
  return client as unknown as Redis;
}

const taken = async (holder: Claim): Promise<string | undefined> => {
  const seal = new Signer(undefined);
  const key = new ClaimKey(heldBy(holder), "key", seal, new Inbox(seal, new DroppedMessages("test", () => undefined)));
  await key.take(claim("new"), "digits");
  return (await key.read())?.run;
};

test("a holder that lives keeps it", async () => {
  await expect(taken(claim("old"))).rejects.toThrow(
    `another controller is at work on the study \`digits\` (process ${process.pid} on ${thisProcess().host})`,
  );
  await expect(taken(claim("old", { host: "elsewhere", pid: 1 }))).rejects.toThrow("on elsewhere");
});

test.runIf(process.platform === "linux")("a holder in another PID namespace or boot keeps it", async () => {
  const pid = spawnSync("true").pid;
  await expect(taken(claim("old", { pid, namespaces: "pid:[1] time:[2]" }))).rejects.toThrow("another controller");
  await expect(taken(claim("old", { pid, boot: "another" }))).rejects.toThrow("another controller");
});

test("a holder that has died loses it at once", async () => {
  expect(await taken(claim("old", { pid: spawnSync("true").pid }))).toBe("new");
});

test.runIf(process.platform === "linux")("also when another process has its pid now", async () => {
  expect(await taken(claim("old", { started: "1" }))).toBe("new");
});

test("a claim that someone overwrites again and again stays the controller's; another controller's does not", async () => {
  const signer = new Signer(undefined);
  const texts = ["forged once", "forged twice", "forged three times"];
  let text = texts.shift()!;
  const client = {
    get: async () => text,
    async eval(_script: string, _keys: number, _key: string, mine: string, _ms: number, replaced: string) {
      // Someone writes between the reading and the taking.
      const forged = texts.shift();
      if (forged !== undefined) text = forged;
      if (text !== mine && text !== replaced) return 0;
      text = mine;
      return 1;
    },
  } as unknown as Redis;
  const key = new ClaimKey(client, "key", signer, new Inbox(signer, new DroppedMessages("test", () => undefined)));
  expect(await key.renew(claim("ours"))).toBe(true);
  expect((await key.read())?.run).toBe("ours");
  text = stringifyExact(claim("other"));
  expect(await key.renew(claim("ours"))).toBe(false);
});
