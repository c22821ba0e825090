// Notifications: where they go, each with a test, and what became of the last ones.
import { html, useEffect, useState } from './lib.js';
import { get, may, part, post } from './api.js';
import { onEvents } from './live.js';
import { Act, Age, Mark, Select, toast } from './parts.js';
import { moment } from './time.js';
import { go } from './route.js';

const STATES = ['pending', 'delivered', 'dead'];
const PAGE = 50;

// Whether this host sends notifications at all.
export async function hasNotifications() {
  try {
    await get('/api/v1/sinks');
    return true;
  } catch (_) {
    return false;
  }
}

export function Notifications({ query }) {
  const wanted = Object.fromEntries(['state', 'sink'].filter((key) => query[key]).map((key) => [key, query[key]]));
  const key = JSON.stringify(wanted);
  const [sinks, setSinks] = useState([]);
  const [state, set] = useState({ key: null, rows: [], next: null, error: null });
  const read = async (before) => {
    const asked = new URLSearchParams({ ...wanted, limit: PAGE, ...(before ? { before } : {}) });
    try {
      const [known, page] = await Promise.all([get('/api/v1/sinks'), get(`/api/v1/notifications?${asked}`)]);
      setSinks(known.sinks);
      set((was) => ({ key, rows: before && was.key === key ? [...was.rows, ...page.notifications] : page.notifications, next: page.next_before, error: null }));
    } catch (error) {
      set((was) => ({ ...was, key, error }));
    }
  };
  useEffect(() => {
    read();
    const soon = () => { if (window.scrollY < 200 && !document.hidden) read(); };
    const timer = setInterval(soon, 5000);
    const off = onEvents(soon);
    return () => { clearInterval(timer); off(); };
  }, [key]);
  const filter = (name, value) => go('/notifications', Object.fromEntries(Object.entries({ ...wanted, [name]: value }).filter(([, text]) => text)), true);
  const test = async (sink) => {
    await post(`/api/v1/sinks/${part(sink.name)}/test`);
    toast(`A test went to ${sink.name}.`);
    await read();
  };
  const replay = async (row) => {
    await post(`/api/v1/notifications/${part(row.id)}/replay`);
    toast('It is delivered once more.');
    await read();
  };
  return html`<h1>Notifications</h1>${state.error && html`<p class="problem" role="alert">${state.error.message}</p>`}
    <section class="panel" aria-labelledby="sinks-title"><header><h2 id="sinks-title">Sinks</h2></header>
      ${sinks.length === 0 ? html`<p class="muted">The configuration file names no sink yet.</p>` : html`<div class="scroll"><table><thead><tr><th scope="col">Name</th><th scope="col">Kind</th><th scope="col">What is known</th><th scope="col"><span class="hidden">Test</span></th></tr></thead>
      <tbody>${sinks.map((sink) => html`<tr key=${sink.name}><td><b>${sink.name}</b></td><td>${sink.kind ?? sink.type ?? ''}</td><td>${facts(sink)}</td>
        <td class="narrow">${may('operator') && html`<${Act} label="Send a test" work=${() => test(sink)} />`}</td></tr>`)}</tbody></table></div>`}</section>
    <section class="panel" aria-labelledby="deliveries-title"><header><h2 id="deliveries-title">Deliveries</h2><div class="end">
      <${Select} label="State" name="state" value=${wanted.state ?? ''} onChange=${(value) => filter('state', value)} options=${[['', 'all'], ...STATES.map((name) => [name, name])]} />
      <${Select} label="Sink" name="sink" value=${wanted.sink ?? ''} onChange=${(value) => filter('sink', value)} options=${[['', 'all'], ...sinks.map((sink) => [sink.name, sink.name])]} /></div></header>
      <div class="scroll"><table><thead><tr><th scope="col">Made</th><th scope="col">State</th><th scope="col">Sink</th><th scope="col">What</th><th scope="col">Tries</th><th scope="col">Last error</th><th scope="col"><span class="hidden">Replay</span></th></tr></thead>
      <tbody>${state.rows.map((row) => html`<tr key=${row.id}><td class="narrow num">${moment(Date.parse(row.created_at))} <span class="muted"><${Age} at=${row.created_at} /></span></td>
        <td class="narrow"><${Mark} of=${row.state} /></td><td>${row.sink}</td>
        <td>${row.kind}${row.target ? html` <a href=${`#/targets/${part(row.target)}`}>${row.target}</a>` : ''}${row.check ? html` <span class="muted">/ ${row.check}</span>` : ''}</td>
        <td class="num">${row.attempts}</td><td>${row.last_error ?? ''}</td>
        <td class="narrow">${may('operator') && row.state === 'dead' && html`<${Act} label="Replay" work=${() => replay(row)} />`}</td></tr>`)}</tbody></table></div>
      ${state.key === key && state.rows.length === 0 && !state.error && html`<p class="note">Nothing was sent.</p>`}
      ${state.next && html`<p><button type="button" class="button" onClick=${() => read(state.next)}>Older</button></p>`}</section>`;
}

// What a sink says of itself besides its name and kind.
function facts(sink) {
  const told = Object.entries(sink).filter(([key, value]) => !['name', 'kind', 'type'].includes(key) && value !== null && typeof value !== 'object');
  return told.map(([key, value]) => `${key.replaceAll('_', ' ')}: ${value}`).join(', ');
}
