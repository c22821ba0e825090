// Runs in Node: npm test

import assert from "node:assert/strict";
import test from "node:test";

import { endpointOf, judge, parse } from "../src/judge";

const url = "http://a.example/x";
const body = '{"data": {"items": [{"state": "ready", "left": 3, "why": null, "on": true}], "": 1}}';

function said(path: string, equals: unknown, status = 200, answer = body): string {
  const outcome = judge(parse(JSON.stringify({ url, path, equals })), status, answer);
  if (outcome.tag !== "fail") return outcome.tag;
  assert.equal(outcome.val.reason, "answer");
  return outcome.val.message.replace("a.example:80 ", "");
}

test("the expected value passes, whatever its type", () => {
  for (const [key, value] of [["state", "ready"], ["left", 3], ["why", null], ["on", true]] as const) {
    assert.equal(said(`data.items.0.${key}`, value), "pass", key);
  }
  assert.deepEqual(endpointOf(parse('{"url": "https://a.example", "path": "a", "equals": 1}')), {
    scheme: "https",
    host: "a.example",
    port: 443,
  });
});

test("anything else fails and says what, without what was answered", () => {
  assert.equal(said("data.items.0.state", "gone"), 'has another text at data.items.0.state than "gone"');
  assert.equal(said("data.items.0.left", 4), "has another number at data.items.0.left than 4");
  assert.equal(said("data.items.0.left", "3"), 'has a number at data.items.0.left, expected "3"');
  assert.equal(said("data.items.0.why", false), "has null at data.items.0.why, expected false");
  assert.equal(said("data.items", "x"), 'has an array at data.items, expected "x"');
  assert.equal(said("data", 1), "has an object at data, expected 1");
  assert.equal(said("data.items.1.state", "ready"), "answered without data.items.1");
  for (const path of ["data.items.length", "data.constructor", "data.items.0.state.length"]) {
    assert.equal(said(path, 1), `answered without ${path}`);
  }
  assert.equal(said("data", 1, 503), "answered 503, expected 2xx");
  assert.equal(said("data", 1, 200, "<html>"), "answered with what is no JSON");
});

test("a config that cannot be is refused", () => {
  for (const config of [
    "",
    "[]",
    "{}",
    '{"url": 1, "path": "a", "equals": 1}',
    '{"url": "http://a", "path": "", "equals": 1}',
    '{"url": "http://a", "path": "a..b", "equals": 1}',
    '{"url": "http://a", "path": "a"}',
    '{"url": "http://a", "path": "a", "equals": [1]}',
    '{"url": "http://a", "path": "a", "equals": 1, "x": 1}',
  ]) {
    assert.throws(() => parse(config), (error) => typeof (error as { path: string }).path === "string", config);
  }
  for (const url of ["nowhere", "ftp://a"]) assert.throws(() => endpointOf({ url, path: "a", equals: 1 }));
});
