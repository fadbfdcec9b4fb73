// Two hosts on one machine: network namespaces with a wire between them, which can be cut. Needs root and iproute2.
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { mpirunArguments } from "../../src/cli/launch/mpirun.ts";
import { NOTES_VARIABLE } from "./notes.ts";
import { mpirunWorks, startRanks, type RanksOptions, type RunningRanks } from "./ranks.ts";

const ADDRESSES = ["10.77.0.1", "10.77.0.2"] as const;

/** Succeeds when the host answers: nothing listens on that port, so it refuses the connection. */
const REACH = `require("node:net").connect(9, process.argv[1]).on("error", (e) => process.exit(e.code === "ECONNREFUSED" ? 0 : 1));
setTimeout(() => process.exit(1), 2000);`;

/** May namespaces be made here, and host names of their own? */
export const twoHostsWork = mpirunWorks && canMakeHosts();

function canMakeHosts(): boolean {
  const name = `hookline-try-${process.pid}`;
  const works = spawnSync("ip", ["netns", "add", name]).status === 0;
  if (works) spawnSync("ip", ["netns", "delete", name]);
  else console.info("Tests of two hosts skip: they need root and iproute2 (`apt-get install iproute2`).");
  return works && spawnSync("unshare", ["-u", "true"]).status === 0;
}

export interface TwoHosts {
  /** Half of the ranks on each. */
  start(ranks: number, script: URL, options?: Omit<RanksOptions, "command">): RunningRanks;
  /** From here on nothing gets from one to the other. */
  cut(): void;
  mend(): void;
  remove(): void;
}

export function makeTwoHosts(): TwoHosts {
  const id = randomBytes(3).toString("hex");
  const [first, second] = [`hookline-${id}-1`, `hookline-${id}-2`];
  const wires = [`hl${id}-1`, `hl${id}-2`] as const;
  const folder = mkdtempSync(`${tmpdir()}/hookline-hosts-`);
  const ip = (...args: string[]): unknown => execFileSync("ip", args);
  ip("netns", "add", first);
  ip("netns", "add", second);
  ip("link", "add", wires[0], "netns", first, "type", "veth", "peer", "name", wires[1], "netns", second);
  [first, second].forEach((host, i) => {
    ip("-n", host, "addr", "add", `${ADDRESSES[i]}/24`, "dev", wires[i]!);
    ip("-n", host, "link", "set", wires[i]!, "up");
    ip("-n", host, "link", "set", "lo", "up");
  });
  /** A wire that was just set up may lose its first packets, and Open MPI gives its daemons one attempt. */
  const awaitWire = (): void => {
    for (const [host, other] of [
      [first, ADDRESSES[1]],
      [second, ADDRESSES[0]],
    ] as const) {
      for (let answered = false; !answered;)
        answered = spawnSync("ip", ["netns", "exec", host, process.execPath, "-e", REACH, other]).status === 0;
    }
  };
  awaitWire();
  // What ssh does elsewhere: `agent host command…`. Only the second host is ever asked for.
  const agent = `${folder}/agent`;
  writeFileSync(agent, `#!/bin/sh\nshift\nexec ip netns exec ${second} unshare -u sh -c "hostname ${second}; $*"\n`);
  chmodSync(agent, 0o755);
  const onFirst = ["ip", "netns", "exec", first, "unshare", "-u", "sh", "-c", `hostname ${first}; exec "$@"`, "sh"];
  const network = { btl: "tcp,self", btl_tcp_if_include: "10.77.0.0/24", oob_tcp_if_include: "10.77.0.0/24" };
  return {
    start(ranks, script, { env = {}, flags = [], ...options } = {}) {
      const mca = Object.entries({ plm_rsh_agent: agent, ...network }).flatMap(([name, value]) => [
        "--mca",
        name,
        value,
      ]);
      const pass = [NOTES_VARIABLE, "HOOKLINE_THREADS", ...Object.keys(env)];
      const command: RanksOptions["command"] = (n, program) => [
        ...onFirst,
        "mpirun",
        ...mpirunArguments({ ranks: n, cores: 1, hosts: ADDRESSES, further: [...mca, ...flags], pass, program }),
      ];
      return startRanks(ranks, script, { ...options, env, command });
    },
    cut: () => void ip("-n", first, "link", "set", wires[0], "down"),
    mend() {
      ip("-n", first, "link", "set", wires[0], "up");
      awaitWire();
    },
    remove() {
      for (const host of [first, second]) ip("netns", "delete", host);
      rmSync(folder, { recursive: true });
    },
  };
}
