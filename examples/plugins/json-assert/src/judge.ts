// What needs no host: reading the config, and what an answer means. The tests run it in Node.

import type { ConfigError, Origin, Outcome } from "probehost:plugin/types@1.0.0";

/** What a value in JSON is compared with: one that holds no others. */
export type Scalar = string | number | boolean | null;

/** A check's config. */
export interface Config {
  url: string;
  path: string;
  equals: Scalar;
}

/** What the host holds configs against, and shows to people. */
export const schema = {
  type: "object",
  properties: {
    url: { type: "string", format: "uri", description: "The URL to read, http or https." },
    path: {
      type: "string",
      minLength: 1,
      description: "Keys and indices from the top to the value, joined by dots: data.items.0.state.",
    },
    equals: {
      type: ["string", "number", "boolean", "null"],
      description: "What the value must be, of the same type.",
    },
  },
  required: ["url", "path", "equals"],
  additionalProperties: false,
};

function wrong(path: string, message: string): ConfigError {
  return { path, message };
}

/** Reads a config. Throws a ConfigError: what the contract's `plan` answers with then. */
export function parse(text: string): Config {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw wrong("", "it is no JSON");
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw wrong("", "give an object");
  }
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(schema.properties, key)) throw wrong(key, "there is no such key");
  }
  const { url, path, equals } = given as Record<string, unknown>;
  if (typeof url !== "string") throw wrong("url", "give a URL as a text");
  if (typeof path !== "string" || path.split(".").includes("")) {
    throw wrong("path", "give keys and indices joined by dots, as data.items.0.state");
  }
  if (equals === undefined || (typeof equals === "object" && equals !== null)) {
    throw wrong("equals", "give a text, a number, true, false or null");
  }
  return { url, path, equals: equals as Scalar };
}

/** Where the request goes. Throws a ConfigError. */
export function endpointOf(config: Config): Origin {
  let url: URL;
  try {
    url = new URL(config.url);
  } catch {
    throw wrong("url", "give an absolute URL, as https://example.com/status.json");
  }
  const scheme = url.protocol.slice(0, -1);
  if (scheme !== "http" && scheme !== "https") throw wrong("url", "give http or https");
  const port = Number(url.port) || (scheme === "http" ? 80 : 443);
  return { scheme, host: url.hostname.replace(/^\[|\]$/g, ""), port };
}

/** The value at a path, and how far the path leads where there is none. */
function follow(json: unknown, path: string): { value: unknown } | { missing: string } {
  const keys = path.split(".");
  let value = json;
  for (const [depth, key] of keys.entries()) {
    const within = typeof value === "object" && value !== null;
    // An array's own keys are its indices, and `length`, which is not in the JSON.
    if (!within || !Object.hasOwn(value as object, key) || (Array.isArray(value) && key === "length")) {
      return { missing: keys.slice(0, depth + 1).join(".") };
    }
    value = (value as Record<string, unknown>)[key];
  }
  return { value };
}

/** The type of a value with its article, as a reader of JSON calls it. */
function kind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") return "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** What an answer says of the target. Messages hold nothing of what it answered but types. */
export function judge(config: Config, status: number, body: string): Outcome {
  const { host, port } = endpointOf(config);
  const fail = (message: string): Outcome => {
    return { tag: "fail", val: { reason: "answer", message: `${host}:${port} ${message}` } };
  };
  if (status < 200 || status > 299) return fail(`answered ${status}, expected 2xx`);
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return fail("answered with what is no JSON");
  }
  const found = follow(json, config.path);
  if ("missing" in found) return fail(`answered without ${found.missing}`);
  if (found.value === config.equals) return { tag: "pass" };
  const expected = JSON.stringify(config.equals);
  const sort = kind(found.value);
  if (sort !== kind(config.equals)) return fail(`has ${sort} at ${config.path}, expected ${expected}`);
  return fail(`has ${sort.replace(/^a /, "another ")} at ${config.path} than ${expected}`);
}
