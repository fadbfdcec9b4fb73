import { expect, test } from "vitest";
import { mpirunArguments } from "./mpirun-arguments.ts";

const launch = { ranks: 4, cores: 8, further: [], pass: [], program: ["node", "main.js", "train"] };

test("on one machine", () => {
  expect(mpirunArguments(launch).join(" ")).toBe(
    "-n 4 --bind-to none --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 node main.js train",
  );
});

test("with more ranks than cores", () => {
  expect(mpirunArguments({ ...launch, cores: 2 })).toContain("--oversubscribe");
  expect(mpirunArguments({ ...launch, cores: 4 })).not.toContain("--oversubscribe");
});

test("on several hosts, which share the ranks unless they say how many they take", () => {
  const on = (...hosts: string[]): string => {
    const args = mpirunArguments({ ...launch, cores: 2, ranks: 5, hosts });
    expect(args).not.toContain("--oversubscribe");
    return args[args.indexOf("--host") + 1]!;
  };
  expect(on("a", "b")).toBe("a:3,b:3");
  expect(on("a:1", "b:4")).toBe("a:1,b:4");
});

test("variables go to other hosts, and the user's flags come after ours", () => {
  const args = mpirunArguments({ ...launch, pass: ["HOOKLINE_THREADS"], further: ["--bind-to", "core"] });
  expect(args.join(" ")).toMatch(/-x HOOKLINE_THREADS --bind-to core node main\.js train$/);
});
