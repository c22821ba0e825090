// What happened to a target, newest first, each with the rule by which it did.
import { html, useEffect, useState } from './lib.js';
import { get, part } from './api.js';
import { explainAct, explainLifecycle, explainStatus, seen } from './explain.js';
import { moment } from './time.js';
import { Age, Shape } from './parts.js';

const PAGE = 50;
// What the transitions and the lifecycle tell already.
const TOLD = new Set(['transition', 'lifecycle']);

export function Timeline({ id, target, report, turn }) {
  const [pages, setPages] = useState(1);
  const [state, set] = useState({ transitions: [], audit: [], more: false, error: null, loading: true });
  useEffect(() => {
    let current = true;
    const read = async () => {
      const limit = Math.min(pages * PAGE, 1000);
      const [rows, acts] = await Promise.all([
        get(`/api/v1/transitions?target=${part(id)}&limit=${limit}`),
        // There are more of them: each probe by hand, and each call that was refused.
        get(`/api/v1/audit?target=${part(id)}&limit=${Math.min(limit * 4, 1000)}`),
      ]);
      const more = (rows.next_before ?? acts.next_before ?? null) !== null && limit < 1000;
      if (current) set({ transitions: rows.transitions, audit: acts.audit, more, error: null, loading: false });
    };
    read().catch((error) => current && set((before) => ({ ...before, error, loading: false })));
    return () => { current = false; };
  }, [id, turn, pages]);
  const items = merged(state.transitions, state.audit, report, target);
  return html`<section class="panel" aria-labelledby="timeline-title"><header><h2 id="timeline-title">Timeline</h2></header>
    ${state.error && html`<p class="problem" role="alert">${state.error.message}</p>`}
    ${items.length === 0 && html`<p class="muted">${state.loading ? 'Reading …' : 'Nothing has happened yet.'}</p>`}
    <ol class="timeline">${items.map((item) => html`<li key=${item.key} data-kind=${item.kind}>
      <span class="dot mark ${item.to}"><${Shape} of=${item.to} /></span>
      <div class="what"><span>${item.what}${item.times > 1 ? ` × ${item.times}` : ''}</span>${item.check && html`<span class="check">${item.check}</span>`}<span class="when"><time datetime=${item.at}>${moment(Date.parse(item.at))}</time> · <${Age} at=${item.at} /> ago</span></div>
      ${item.rule && html`<p class="rule">${item.rule}</p>`}
      ${item.said && html`<p class="said">${item.said}</p>`}</li>`)}</ol>
    ${state.more && html`<p><button type="button" class="button" onClick=${() => setPages(pages + 1)}>Older</button></p>`}</section>`;
}

function merged(transitions, audit, report, target) {
  const checks = new Map(target.checks.map((check) => [check.name, check]));
  const audited = new Map();
  for (const row of audit) if (row.check && row.from !== row.to) audited.set(`${row.check} ${row.at}`, row);
  const items = transitions.map((row) => {
    const act = audited.get(`${row.check} ${row.at}`);
    return {
      key: `status ${row.id}`, kind: 'status', at: row.at, to: row.to, what: `${row.from} → ${row.to}`, check: row.check,
      rule: explainStatus(row, checks.get(row.check), act), said: seen(row, act),
    };
  });
  for (const row of report?.history ?? []) {
    items.push({
      key: `lifecycle ${row.id}`, kind: 'lifecycle', at: row.at, to: row.to, what: `${row.from} → ${row.to}`, check: 'lifecycle',
      rule: explainLifecycle(row, report.max_restarts), said: row.reason ? `${row.reason}: ${row.message}` : row.message,
    });
  }
  for (const row of audit) {
    if (TOLD.has(row.action) || (row.action === 'probe' && row.from !== row.to)) continue;
    const what = row.action.replace('-', ' ');
    items.push({
      key: `audit ${row.id}`, kind: 'act', at: row.at, to: 'act', what, check: row.check,
      rule: explainAct(row), said: row.action === 'target-changed' ? '' : row.outcome,
    });
  }
  // Rows of one moment stand as the host wrote them: a status before what follows from it.
  const order = { status: 0, act: 1, lifecycle: 2 };
  items.sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : order[b.kind] - order[a.kind]));
  return folded(items);
}

// What was done again and again stands once, with how often.
function folded(items) {
  const shown = [];
  for (const item of items) {
    const last = shown.at(-1);
    if (last && item.kind === 'act' && ['kind', 'what', 'check', 'rule', 'said'].every((key) => last[key] === item[key])) last.times += 1;
    else shown.push({ ...item, times: 1 });
  }
  return shown;
}
