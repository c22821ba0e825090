// The probe kind `json-assert`: whether a value in a JSON answer is what it is expected to be.

// First: it gives QuickJS what the code below takes for granted (URL, TextDecoder, console).
import "../vendor/probehost/prelude";

import { send } from "probehost:plugin/http@1.0.0";
import type { Probe } from "probehost:plugin/probe@1.0.0";
import type { Measurement, Outcome } from "probehost:plugin/types@1.0.0";

import { name, version } from "../package.json";
import { outcomeOf } from "../vendor/probehost/outcome";
import { type Config, endpointOf, judge, parse, schema } from "./judge";

/** Longest answer that is read, in bytes; a longer one fails with `answer`. */
const BODY_LIMIT = 256 * 1024;

function probe(config: Config, measurements: Measurement[]): Outcome {
  try {
    const answer = send({
      method: "GET",
      url: config.url,
      headers: [{ name: "accept", value: { tag: "text", val: "application/json" } }],
      body: null,
      redirects: 0,
      bodyLimit: BODY_LIMIT,
    });
    console.log(`answered ${answer.status} with ${answer.body.length} bytes`);
    measurements.push({ name: "status", unit: "number", value: answer.status });
    measurements.push({ name: "body", unit: "bytes", value: answer.body.length });
    measurements.push({ name: "total", unit: "seconds", value: answer.timings.total });
    return judge(config, answer.status, new TextDecoder().decode(answer.body));
  } catch (thrown) {
    return outcomeOf(thrown);
  }
}

// What the host calls: the exports of the interface `probe`.
const exported: Probe = {
  describe: () => ({
    name,
    version,
    description: "Whether a value in a JSON answer is what it is expected to be.",
    configSchema: JSON.stringify(schema),
    interval: { default: 30, minimum: 5, maximum: 86_400 },
    timeoutMs: 10_000,
    threshold: 2,
    concurrency: null,
  }),

  // What a check reaches. The host grants exactly this, as far as the config names it.
  plan: (text) => {
    const endpoint = endpointOf(parse(text));
    return {
      subject: `${endpoint.host}:${endpoint.port}`,
      endpoints: [{ tag: "http", val: endpoint }],
    };
  },

  check: (text) => {
    const measurements: Measurement[] = [];
    return { outcome: probe(parse(text), measurements), measurements };
  },
};

export { exported as probe };
