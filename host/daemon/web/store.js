// What is known of the fleet: read whole once, then only what has news.
import { useEffect, useState } from './lib.js';
import { get, part, ApiError } from './api.js';
import { hostClock, now } from './time.js';

export const RUNS = 30;
// Results can become visible a little after their time.
const OVERLAP = 15;

export const fleet = {
  targets: new Map(),
  // One row for each check, in the order of names.
  rows: [],
  instances: new Map(),
  loaded: false,
  error: null,
  connection: { state: 'connecting', since: 0, why: '' },
};

const watchers = new Set();
let told = false;
// Watchers are told once for all that changed in one go.
export function changed() {
  if (told) return;
  told = true;
  queueMicrotask(() => { told = false; for (const watcher of [...watchers]) watcher(); });
}
export function onChange(watcher) { watchers.add(watcher); return () => watchers.delete(watcher); }
export function useFleet() {
  const [, set] = useState(0);
  useEffect(() => onChange(() => set((n) => n + 1)), []);
  return fleet;
}

export function connection(state, why = '') {
  if (fleet.connection.state === state && fleet.connection.why === why) return;
  const since = fleet.connection.state === state ? fleet.connection.since : Date.now();
  fleet.connection = { state, since, why };
  changed();
}

// Begins anew, for whoever logs in next.
export function forget() {
  fleet.targets.clear();
  fleet.instances.clear();
  Object.assign(fleet, { rows: [], loaded: false, error: null });
  begun = 0;
  changed();
}

function row(target, check) {
  const checkedAt = check.checked_at === null ? null : Date.parse(check.checked_at);
  const words = [target.id, target.name, check.name, check.kind, check.subject, check.message, check.last_error, check.problem];
  for (const [key, value] of Object.entries(target.labels)) words.push(`${key}=${value}`);
  return { key: `${target.id}/${check.name}`, target, check, checkedAt, words: words.join('\n').toLowerCase() };
}

function rebuild() {
  const rows = [];
  const ids = [...fleet.targets.keys()].sort();
  for (const id of ids) rows.push(...fleet.targets.get(id).rows);
  fleet.rows = rows;
}

function take(targets, whole) {
  const clocked = targets.flatMap((target) => target.checks).find((check) => check.checked_at && check.age_seconds > 0);
  if (clocked) hostClock(Date.parse(clocked.checked_at) + clocked.age_seconds * 1000 - Date.now());
  if (whole) {
    const there = new Set(targets.map((target) => target.id));
    for (const id of fleet.targets.keys()) if (!there.has(id)) fleet.targets.delete(id);
  }
  for (const target of targets) {
    const before = fleet.targets.get(target.id);
    // A save may have begun the runs anew: then there are only those that came.
    if (before?.updated_at === target.updated_at) keepRuns(before, target);
    target.rows = target.checks.map((check) => row(target, check));
    fleet.targets.set(target.id, target);
  }
  rebuild();
  fleet.loaded = true;
  fleet.error = null;
  changed();
}

// Runs stay until newer ones come: a list has none, and news has the newest only.
function keepRuns(before, target) {
  const known = new Map(before.checks.map((check) => [check.name, check.recent ?? []]));
  for (const check of target.checks) {
    const newest = check.recent ?? [];
    const older = (known.get(check.name) ?? []).filter((run) => newest.length === 0 || run.at < newest[0].at);
    check.recent = [...older, ...newest].slice(-RUNS);
  }
}

// The shortest effective interval there is, in seconds; 30 when all are longer.
export function leastInterval() {
  let least = 30;
  for (const { check } of fleet.rows) {
    if (check.probing_enabled && check.interval_seconds > 0) least = Math.min(least, check.interval_seconds);
  }
  return least;
}

let begun = 0;
let queue = Promise.resolve();
// One reading after the other, so that none lays older facts over newer ones.
function inTurn(work) {
  const done = queue.then(work);
  queue = done.catch(() => {});
  return done;
}

async function list(query, whole) {
  const at = performance.now();
  const targets = [];
  let after = '';
  do {
    const page = await get(`/api/v1/targets?${query}${after}`);
    targets.push(...page.targets);
    after = page.next_after ? `&limit=1000&after=${part(page.next_after)}` : '';
  } while (after !== '');
  take(targets, whole);
  begun = at;
}

async function instances() {
  const answer = await get('/api/v1/health/instances');
  fleet.instances = new Map(answer.instances.map((instance) => [instance.id, instance]));
  changed();
}

// Everything. The first time without the runs, so that there is something to see at once.
export const loadAll = () => inTurn(async () => {
  if (!fleet.loaded) await Promise.all([list('config=false', true), instances()]);
  await Promise.all([list(`config=false&recent=${RUNS}`, true), instances()]);
});

// What has news since the last reading.
export const loadNews = (withInstances = false) => inTurn(async () => {
  if (begun === 0) return;
  const within = Math.ceil((performance.now() - begun) / 1000) + OVERLAP;
  const runs = Math.min(RUNS, Math.ceil(within / leastInterval()) + 2);
  await Promise.all([
    list(`config=false&recent=${runs}&changed_within=${within}`, false),
    ...(withInstances ? [instances()] : []),
  ]);
});

// These targets, and the lifecycle of the managed ones.
export const loadTargets = (ids, withInstances) => inTurn(async () => {
  const one = async (id) => {
    try {
      take([await get(`/api/v1/targets/${part(id)}?recent=${RUNS}`)], false);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) throw error;
      fleet.targets.delete(id);
      fleet.instances.delete(id);
      rebuild();
      changed();
    }
  };
  await Promise.all([...ids.map(one), ...(withInstances ? [instances()] : [])]);
});

// No conclusive result for three effective intervals, by the clock of now.
export function isStale(one, at = now()) {
  const { check, checkedAt } = one;
  if (check.interval_seconds === 0 || checkedAt === null || !one.target.enabled) return false;
  return at - checkedAt > check.interval_seconds * 3000 || checkedAt > at + 60_000;
}
