// Which rows of the fleet are shown, in which order and groups. Pure: rows in, rows out.
import { isStale } from './store.js';

export const EMPTY = { q: '', status: '', kind: '', state: '', group: '', sort: 'status' };
const WORST_FIRST = { unhealthy: 0, unknown: 1, healthy: 3 };

// What a row counts as: its status, unless its target is disabled.
export const standing = (row) => (row.target.enabled ? row.check.status : 'disabled');

export function counts(rows, at) {
  const found = { all: rows.length, healthy: 0, unhealthy: 0, unknown: 0, disabled: 0, stale: 0 };
  for (const row of rows) {
    found[standing(row)] += 1;
    if (isStale(row, at)) found.stale += 1;
  }
  return found;
}

export function choices(rows, instances) {
  const kinds = new Set();
  const labels = new Set();
  const states = new Set();
  for (const row of rows) {
    kinds.add(row.check.kind);
    for (const key of Object.keys(row.target.labels)) labels.add(key);
    const instance = instances.get(row.target.id);
    if (instance) states.add(instance.state);
  }
  const sorted = (set) => [...set].sort();
  return { kinds: sorted(kinds), labels: sorted(labels), states: sorted(states) };
}

export function filtered(rows, wanted, instances, at) {
  const terms = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (wanted.status === 'stale' ? !isStale(row, at) : wanted.status && standing(row) !== wanted.status) return false;
    if (wanted.kind && row.check.kind !== wanted.kind) return false;
    if (wanted.state && instances.get(row.target.id)?.state !== wanted.state) return false;
    return terms.every((term) => row.words.includes(term));
  });
}

const rank = (row, at) => (row.target.enabled ? (row.check.status === 'healthy' && isStale(row, at) ? 2 : WORST_FIRST[row.check.status]) : 4);
const lastTook = (row) => row.check.recent?.at(-1)?.took_seconds ?? -1;

export function sorted(rows, by, at) {
  const order = {
    status: (a, b) => rank(a, at) - rank(b, at),
    name: () => 0,
    latency: (a, b) => lastTook(b) - lastTook(a),
    age: (a, b) => (a.checkedAt ?? 0) - (b.checkedAt ?? 0),
  }[by] ?? (() => 0);
  // Equal ones stay in the order of names, so that nothing jumps.
  return [...rows].sort(order);
}

// The items of the list: rows, and a head before each group.
export function grouped(rows, by, closed) {
  if (!by) return rows;
  const groups = new Map();
  for (const row of rows) {
    const name = by === ':kind' ? row.check.kind : by === ':target' ? row.target.id : row.target.labels[by] ?? '';
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(row);
  }
  const names = [...groups.keys()].sort((a, b) => (a === '') - (b === '') || a.localeCompare(b));
  return names.flatMap((name) => {
    const of = groups.get(name);
    const label = by.startsWith(':') ? name : name === '' ? `no ${by}` : `${by}: ${name}`;
    const head = { key: `group ${name}`, group: name, label, rows: of, open: !closed.has(name) };
    return head.open ? [head, ...of] : [head];
  });
}
