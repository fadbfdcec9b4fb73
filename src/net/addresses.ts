// Which addresses lie in the public internet: a notice must not become a way into someone's own network.

/** `10.1.2.3` → [10, 1, 2, 3]; undefined when it is no IPv4 address. */
function parseV4(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.map(Number);
}

/** The eight groups of an IPv6 address; undefined when it is none. */
function parseV6(text: string): number[] | undefined {
  // A zone (`%eth0`) says through which card, not where to.
  let rest = text.split("%")[0]!;
  const tail: number[] = [];
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(rest);
  if (dotted) {
    const v4 = parseV4(dotted[2]!);
    if (!v4) return undefined;
    tail.push(v4[0]! * 256 + v4[1]!, v4[2]! * 256 + v4[3]!);
    // The colon before the dotted part goes, unless it is half of `::`.
    rest = dotted[1]!.endsWith("::") ? dotted[1]! : dotted[1]!.slice(0, -1);
  }
  const halves = rest.split("::");
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (!groups.flat().every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const [head, end] = groups.map((half) => half.map((group) => Number.parseInt(group, 16)));
  const missing = 8 - tail.length - head!.length - (end?.length ?? 0);
  if (end === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...head!, ...Array.from({ length: missing }, () => 0), ...(end ?? []), ...tail];
}

/** First address of a block and how many leading bits belong to it: everything that is not routed to strangers. */
const NOT_PUBLIC: readonly (readonly [block: readonly number[], bits: number])[] = [
  [[0, 0, 0, 0], 8],
  [[10, 0, 0, 0], 8],
  [[100, 64, 0, 0], 10],
  [[127, 0, 0, 0], 8],
  [[169, 254, 0, 0], 16],
  [[172, 16, 0, 0], 12],
  [[192, 0, 0, 0], 24],
  [[192, 0, 2, 0], 24],
  [[192, 88, 99, 0], 24],
  [[192, 168, 0, 0], 16],
  [[198, 18, 0, 0], 15],
  [[198, 51, 100, 0], 24],
  [[203, 0, 113, 0], 24],
  [[224, 0, 0, 0], 3],
];

const asNumber = (bytes: readonly number[]): number => bytes.reduce((sum, byte) => sum * 256 + byte, 0);

function isPublicV4(address: readonly number[]): boolean {
  const value = asNumber(address);
  return !NOT_PUBLIC.some(([block, bits]) => {
    const size = 2 ** (32 - bits);
    return Math.floor(value / size) === Math.floor(asNumber(block) / size);
  });
}

/** The IPv4 address in the last two groups. */
const embedded = (groups: readonly number[]): number[] =>
  groups.slice(6).flatMap((group) => [Math.floor(group / 256), group % 256]);

function isPublicV6(groups: readonly number[]): boolean {
  const [a, b] = groups as [number, number];
  const zeros = (from: number, to: number): boolean => groups.slice(from, to).every((group) => group === 0);
  // Written as IPv6, meant as IPv4: mapped addresses and NAT64, through which IPv6-only networks reach the rest.
  if (zeros(0, 5) && groups[5] === 0xffff) return isPublicV4(embedded(groups));
  if (a === 0x64 && b === 0xff9b && zeros(2, 6)) return isPublicV4(embedded(groups));
  // Global unicast is 2000::/3. Inside it: protocol use and tunnels (2001::/23, 2002::/16), documentation.
  if (a < 0x2000 || a > 0x3fff) return false;
  const special = (a === 0x2001 && (b < 0x200 || b === 0xdb8)) || a === 0x2002 || (a === 0x3fff && b < 0x1000);
  return !special;
}

/** Is it an address, and no name? */
export const isAddress = (host: string): boolean => (parseV4(host) ?? parseV6(host)) !== undefined;

/** False for private, loopback, link-local, multicast and reserved addresses, and for what is no address at all. */
export function isPublicAddress(address: string): boolean {
  const v4 = parseV4(address);
  if (v4) return isPublicV4(v4);
  const v6 = parseV6(address);
  return v6 !== undefined && isPublicV6(v6);
}
