// Who did what, newest first.
import { html, useEffect, useState } from './lib.js';
import { get } from './api.js';
import { onEvents } from './live.js';
import { Age, Select } from './parts.js';
import { moment } from './time.js';
import { go, part } from './route.js';

const ACTIONS = ['transition', 'probe', 'target-changed', 'capability-denied', 'lifecycle', 'restart', 'quarantine', 'release', 'update'];
const PAGE = 100;

export function Audit({ query }) {
  const wanted = Object.fromEntries(['target', 'principal', 'action'].filter((key) => query[key]).map((key) => [key, query[key]]));
  const key = JSON.stringify(wanted);
  const [state, set] = useState({ key: null, rows: [], next: null, error: null });
  const read = async (before) => {
    const asked = new URLSearchParams({ ...wanted, limit: PAGE, ...(before ? { before } : {}) });
    try {
      const page = await get(`/api/v1/audit?${asked}`);
      set((was) => ({ key, rows: before && was.key === key ? [...was.rows, ...page.audit] : page.audit, next: page.next_before, error: null }));
    } catch (error) {
      set((was) => ({ ...was, key, error }));
    }
  };
  useEffect(() => {
    read();
    // News comes to the top, unless somebody reads on further down.
    return onEvents(() => { if (window.scrollY < 200) read(); });
  }, [key]);
  const filter = (name, value) => go('/audit', Object.fromEntries(Object.entries({ ...wanted, [name]: value }).filter(([, text]) => text)), true);
  const text = (name, label) => html`<label class="field">${label}<input value=${wanted[name] ?? ''} placeholder="all" autocomplete="off" spellcheck=${false} onChange=${(event) => filter(name, event.target.value.trim())} /></label>`;
  return html`<div class="head"><h1>Audit</h1>${text('target', 'Target')}${text('principal', 'Principal')}
      <${Select} label="Action" name="action" value=${wanted.action ?? ''} onChange=${(value) => filter('action', value)} options=${[['', 'all'], ...ACTIONS.map((action) => [action, action])]} /></div>
    <div class="panel scroll">${state.error && html`<p class="problem" role="alert">${state.error.message}</p>`}
      <table><caption class="hidden">Audit rows, newest first</caption><thead><tr><th scope="col">When</th><th scope="col">Principal</th><th scope="col">Action</th><th scope="col">Target</th><th scope="col">From → to</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${state.rows.map((row) => html`<tr key=${row.id}><td class="narrow num" title=${row.at}>${moment(Date.parse(row.at))} <span class="muted"><${Age} at=${row.at} /></span></td>
        <td class="narrow">${row.principal}</td><td class="narrow">${row.action}${row.trigger ? html` <span class="muted">${row.trigger}</span>` : ''}</td>
        <td><a href=${`#/targets/${part(row.target)}`}>${row.target}</a>${row.check ? html` <span class="muted">/ ${row.check}</span>` : ''}</td>
        <td class="narrow">${row.from === null ? '' : row.from === row.to ? row.to : `${row.from} → ${row.to}`}</td><td>${row.outcome}</td></tr>`)}</tbody></table>
      ${state.key === key && state.rows.length === 0 && !state.error && html`<p class="note">No row is as asked for.</p>`}
      ${state.next && html`<p><button type="button" class="button" onClick=${() => read(state.next)}>Older</button></p>`}</div>`;
}
