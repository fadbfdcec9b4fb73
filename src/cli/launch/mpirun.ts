// mpirun: the flags with which `hookline launch` calls it, and which of its own messages are shown.

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

/** Without these, mpirun waits forever for an unreachable host. With them it gives up after about 5 seconds. */
const KEEPALIVE = { oob_tcp_keepalive_time: 2, oob_tcp_keepalive_intvl: 1, oob_tcp_keepalive_probes: 3 };

/** A rank that waits for others gives up its core: beside other work, steps take half the time. */
export const YIELD = ["--mca", "mpi_yield_when_idle", "1"];

export function mpirunArguments({ ranks, cores, hosts, further, pass, program }: Launch): string[] {
  return [
    "-n",
    String(ranks),
    // Each rank has its share of the cores, whichever they are: bound to one, its threads would share that one.
    "--bind-to",
    "none",
    ...(hosts ? ["--host", withSlots(hosts, ranks)] : ranks > cores ? ["--oversubscribe"] : []),
    ...Object.entries(KEEPALIVE).flatMap(([name, value]) => ["--mca", name, String(value)]),
    ...YIELD,
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

/** A banner is between two of these. */
const RULE = /^-{60,}\n$/;
/** How a hidden banner may begin. A rule that a user prints must not hold back what follows it. */
const OPENING =
  /^(MPI_ABORT was invoked|Primary job|\S+ (detected that one|(has exited due to|noticed that) process rank)) /;
/** Banners that repeat what the ranks and the exit code say. Those about killed ranks and about MPI itself are shown. */
const NEEDLESS = [
  /^MPI_ABORT was invoked on rank /,
  /^Primary job +terminated normally, but /,
  /^\S+ detected that one or more processes exited with non-zero status/,
  // A rank that was signalled before it listened.
  /^\S+ noticed that process rank [^()]* exited on signal \d+ \((Interrupt|Terminated|Alarm clock|User defined signal 2)/,
  /^\S+ has exited due to process rank \d+ with PID \d+ on\s+node \S+ calling\s+"abort"/,
];
const NEEDLESS_LINES = [
  /^\S+: Forwarding signal \d+ to job\n$/,
  /^\[\S+\] \d+ more process(es)? ha(s|ve) sent help message help-mpi-api\.txt \/ mpi-abort\n$/,
  // One of these banners that mpirun could not show, since it was ending already.
  /^\[\S+\] \S+ ORTE_ERROR_LOG: .* in file \S*\/show_help\.c at line \d+\n$/,
  // What it asks for, the child has done before it.
  /^\[\S+\] plm:rsh: Warning: setpgid\(\d+,\d+\) failed in parent with errno=Permission denied\(13\)\n$/,
  /^\[\S+\] Set MCA parameter "orte_base_help_aggregate" to 0 /,
];
/** More lines than the longest of them has. */
const LONGEST = 16;
/** How an unfinished line begins that has to be seen whole; any other is passed on as it comes. */
const UNDECIDED = /^([\w-]*|[\w-]+:( (F.*)?)?|\[\S*( .*)?)$/;

export class BannerFilter {
  #unfinished = "";
  /** The rule that a banner begins with, and its lines. */
  #held: string[] = [];

  /** Takes what mpirun has written next; returns what a user should see. */
  pass(text: string): string {
    const lines = (this.#unfinished + text).split(/(?<=\n)/);
    const last = lines.at(-1)!;
    this.#unfinished = last.endsWith("\n") ? "" : lines.pop()!;
    const shown = lines.map((line) => this.#next(line)).join("");
    return this.#held.length === 0 && !UNDECIDED.test(this.#unfinished) ? shown + this.#takeUnfinished() : shown;
  }

  /** What is left when nothing more comes. */
  end(): string {
    return this.#release() + this.#takeUnfinished();
  }

  #next(line: string): string {
    const held = this.#held;
    if (held.length === 0) {
      if (!RULE.test(line)) return NEEDLESS_LINES.some((one) => one.test(line)) ? "" : line;
      held.push(line);
      return "";
    }
    if (held.length === 1 && !OPENING.test(line)) {
      const rule = this.#release();
      return rule + this.#next(line);
    }
    held.push(line);
    if (!RULE.test(line)) return held.length > LONGEST ? this.#release() : "";
    const banner = held.slice(1).join("");
    const all = this.#release();
    return NEEDLESS.some((one) => one.test(banner)) ? "" : all;
  }

  #release(): string {
    return this.#held.splice(0).join("");
  }

  #takeUnfinished(): string {
    const text = this.#unfinished;
    this.#unfinished = "";
    return text;
  }
}
