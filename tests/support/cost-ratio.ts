// How much more CPU time one piece of work takes than another: for tests that cost grows no faster than it should.

const ROUNDS = 5;

function cpuOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/**
 * `large` in terms of `small`. The best of several alternating rounds: what else the machine does can only add to a
 * round, and both have to be lucky once.
 */
export function costRatio(small: () => void, large: () => void): number {
  let [least, most] = [Infinity, Infinity];
  for (let round = 0; round < ROUNDS; round++) {
    least = Math.min(least, cpuOf(small));
    most = Math.min(most, cpuOf(large));
  }
  return most / Math.max(1, least);
}
