// The flags with which `hookline launch` calls mpirun.

interface Launch {
  readonly ranks: number;
  /** Of this machine. */
  readonly cores: number;
  /** `host` or `host:slots`. */
  readonly hosts?: readonly string[] | undefined;
  /** Of the user's, after ours, so that they win. */
  readonly further: readonly string[];
  /** Names of variables that processes on other hosts need too. */
  readonly pass: readonly string[];
  readonly program: readonly string[];
}

/** Without these, mpirun waits forever for a host that is cut off. With them it gives up after about 5 seconds. */
const KEEPALIVE = { oob_tcp_keepalive_time: 2, oob_tcp_keepalive_intvl: 1, oob_tcp_keepalive_probes: 3 };

export function mpirunArguments({ ranks, cores, hosts, further, pass, program }: Launch): string[] {
  return [
    "-n",
    String(ranks),
    // Each rank has its share of the cores, whichever they are: bound to one, its threads would share that one.
    "--bind-to",
    "none",
    ...(hosts ? ["--host", withSlots(hosts, ranks)] : ranks > cores ? ["--oversubscribe"] : []),
    ...Object.entries(KEEPALIVE).flatMap(([name, value]) => ["--mca", name, String(value)]),
    ...pass.flatMap((name) => ["-x", name]),
    ...further,
    ...program,
  ];
}

/** mpirun takes a host without a number for one rank. */
function withSlots(hosts: readonly string[], ranks: number): string {
  const each = Math.ceil(ranks / hosts.length);
  return hosts.map((host) => (host.includes(":") ? host : `${host}:${each}`)).join(",");
}
