// Holds what the prelude gives to QuickJS against what Node has. Exits with 1 when they differ.

const native = { URL, TextEncoder, TextDecoder, write: console.log };
for (const name of ["URL", "TextEncoder", "TextDecoder"]) delete (globalThis as any)[name];
await import("./prelude");

let wrong = 0;
function same(what: string, expected: unknown, found: unknown) {
  if (expected !== found && wrong++ < 10) native.write(`${what}: ${expected} is ${found}`);
}

// A generator of its own, so that each run is the same.
let seed = 1;
const pick = <T>(from: T[]): T => from[(seed = (seed * 48271) % 2147483647) % from.length] as T;
const some = <T>(from: T[]) => Array.from({ length: pick([0, 1, 2, 3, 4, 5]) }, () => pick(from));

const units = [0x41, 0x7f, 0x80, 0xe9, 0x7ff, 0x800, 0x20ac, 0xd83d, 0xde00, 0xffff];
for (let round = 0; round < 50_000; round++) {
  const text = String.fromCharCode(...some(units));
  const bytes = new native.TextEncoder().encode(text);
  same(JSON.stringify(text), bytes.join(), new TextEncoder().encode(text).join());
}
const octets = [0x41, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2, 0xc3, 0xe0, 0xe2, 0xed, 0xf0, 0xf4, 0xf5, 0xff];
for (let round = 0; round < 100_000; round++) {
  const bytes = new Uint8Array(some(octets));
  same(bytes.join(), new native.TextDecoder().decode(bytes), new TextDecoder().decode(bytes));
}
const parts = ["href", "protocol", "origin", "host", "hostname", "port", "pathname", "search", "hash"] as const;
for (const url of [
  "http://a.example", "https://A.Example:443/x?y#z", "http://[::1]:8080/p", "http://h:80", "http://h:081/",
  "HTTP://h/%20?q=1&r", "http://h?x", "http://192.0.2.4:9#f",
]) {
  for (const part of parts) same(`${part} of ${url}`, new native.URL(url)[part], new URL(url)[part]);
}
for (const url of ["", "a", "ftp://a", "http://", "http://u:p@h", "http://h:99999", "http://a b", "http://h:x"]) {
  let refused = false;
  try { new URL(url); } catch { refused = true; }
  same(`refused ${url}`, true, refused);
}
process.exitCode = wrong === 0 ? 0 : 1;
