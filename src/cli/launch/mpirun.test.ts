import { describe, expect, test } from "vitest";
import { BannerFilter, mpirunArguments } from "./mpirun.ts";

const launch = { ranks: 4, cores: 8, further: [], pass: [], program: ["node", "main.js", "train"] };

test("on one machine", () => {
  expect(mpirunArguments(launch).join(" ")).toBe(
    "-n 4 --bind-to none --mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 --mca mpi_yield_when_idle 1 node main.js train",
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

const RULE = `${"-".repeat(74)}\n`;
const banner = (text: string): string => `${RULE}${text}\n${RULE}`;

/** As Open MPI 4.1 prints them. */
const NEEDLESS = {
  aborted: banner(
    "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD\nwith errorcode 1.\n\nNOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes.\nYou may or may not see output from other processes, depending on\nexactly when Open MPI kills them.",
  ),
  terminated: banner(
    "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.",
  ),
  detected: banner(
    "mpirun detected that one or more processes exited with non-zero status, thus causing\nthe job to be terminated. The first process to do so was:\n\n  Process name: [[27301,1],0]\n  Exit code:    2",
  ),
  calling: banner(
    'mpirun has exited due to process rank 1 with PID 0 on\nnode vm calling "abort". This may have caused other processes\nin the application to be terminated by signals sent by mpirun\n(as reported here).',
  ),
  told: banner("mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 12 (User defined signal 2)."),
  racing: "[node1:15797] plm:rsh: Warning: setpgid(15809,15809) failed in parent with errno=Permission denied(13)\n",
  signal: "mpirun: Forwarding signal 10 to job\n",
  unshown:
    "[vm:20768] [[15838,0],0] ORTE_ERROR_LOG: Out of resource in file ../../../orte/util/show_help.c at line 501\n",
  more: '[vm:01579] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n[vm:01579] Set MCA parameter "orte_base_help_aggregate" to 0 to see all help / error messages\n',
};
const TOLD = {
  killed: banner("mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed)."),
  improper: banner(
    "mpirun has exited due to process rank 1 with PID 0 on\nnode vm exiting improperly. There are three reasons this could occur:",
  ),
  slots: banner(
    "There are not enough slots available in the system to satisfy the 2\nslots that were requested by the application:",
  ),
  more: "[vm:01579] 3 more processes have sent help message help-mpi-btl-base.txt / btl:no-nics\n",
};

/** In pieces of `size` characters, as a pipe may deliver it. */
function passed(text: string, size = text.length): string {
  const filter = new BannerFilter();
  let shown = "";
  for (let at = 0; at < text.length; at += size) shown += filter.pass(text.slice(at, at + size));
  return shown + filter.end();
}

describe("of what mpirun prints", () => {
  test.each(Object.entries(NEEDLESS))("%s is left out, and what stands around it is not", (_, text) => {
    for (const size of [1, 7, 1000]) expect(passed(`before\n${text}${text}after\n`, size)).toBe("before\nafter\n");
  });

  test.each(Object.entries(TOLD))("%s is shown", (_, text) => {
    for (const size of [1, 7, 1000]) expect(passed(NEEDLESS.terminated + text, size)).toBe(text);
  });
});

describe("what the ranks print", () => {
  test("comes at once, also an unfinished line, and one after a rule of their own", () => {
    const filter = new BannerFilter();
    expect(filter.pass("epoch 1 ")).toBe("epoch 1 ");
    expect(filter.pass("of 3\n...")).toBe("of 3\n...");
    expect(filter.pass(`${RULE}a table\n`)).toBe(`${RULE}a table\n`);
    expect(filter.pass(RULE)).toBe("");
    expect(filter.pass("\n")).toBe(`${RULE}\n`);
  });

  test("is whole where it looks like a banner that does not end", () => {
    const text = `${RULE}Primary job one\n${"line\n".repeat(30)}error: `;
    expect(passed(text)).toBe(text);
    expect(passed(`${RULE}Primary job one`)).toBe(`${RULE}Primary job one`);
  });
});
