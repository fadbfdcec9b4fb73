// Every block that is not public, at both of its ends, and the many ways of writing it.
import { BlockList } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAddress, isPublicAddress } from "./endpoint.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

const PRIVATE = words(`
  0.0.0.0 0.255.255.255 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255
  127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.0 172.31.255.255 192.0.0.1 192.0.2.1
  192.168.0.0 192.168.255.255 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255
  224.0.0.1 239.255.255.255 240.0.0.0 255.255.255.255 192.88.99.1
  :: ::1 0:0:0:0:0:0:0:1 fe80::1 fe80::1%eth0 febf::1 fc00:: fdff:ffff::1 ff02::1
  ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe
  64:ff9b:1::1 100::1 2001::1 2001:0:1:2:3:4:5:6 2001:db8::1 2002:7f00:1:: 3fff::1 fec0::1
  4000::1 ::127.0.0.1
`);
const PUBLIC = words(`
  1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0
  198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 2001:200::1 2a00::1
  ::ffff:1.1.1.1 ::ffff:101:101 64:ff9b::1.1.1.1
`);
const NONE = words(`
  localhost 1.2.3 1.2.3.4.5 256.1.1.1 1.2.3.x : 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9
  1::2::3 12345:: g::1 ::1.2.3 ::1.2.3.400 1:2:3:4:5:6:7:8:: 0x7f.1
`);

describe("isPublicAddress", () => {
  it.each(PRIVATE)("%s is not", (address) => {
    expect(isPublicAddress(address)).toBe(false);
    expect(isAddress(address)).toBe(true);
  });

  it.each(PUBLIC)("%s is", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each(["", ...NONE])("`%s` is no address", (text) => {
    expect(isAddress(text)).toBe(false);
    expect(isPublicAddress(text)).toBe(false);
  });

  it("agrees with Node's block list on any IPv4 address", () => {
    const list = new BlockList();
    const blocks = ["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"];
    blocks.push("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15");
    blocks.push("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4");
    for (const block of blocks) list.addSubnet(block.split("/")[0]!, Number(block.split("/")[1]), "ipv4");
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublicAddress(address)).toBe(!list.check(address, "ipv4"));
      }),
    );
  });

  it("reads every form of IPv6 that fast-check can write", () => {
    expect(() => fc.assert(fc.property(fc.ipV6(), isAddress))).not.toThrow();
  });
});
