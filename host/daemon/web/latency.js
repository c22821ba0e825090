// How fast a check is: the last hour run by run, and long ranges by percentiles.
import { html, useEffect, useState } from './lib.js';
import { ApiError, get, part } from './api.js';
import { duration, moment } from './time.js';
import { Chart } from './chart.js';

const RANGES = [['1h', 'Hour', 'hour'], ['24h', '24 h', '24 hours'], ['7d', '7 d', '7 days'], ['30d', '30 d', '30 days'], ['90d', '90 d', '90 days']];
// Whether the host keeps a long history; asked once.
let keepsHistory = null;

export function Latency({ target, check }) {
  const [range, setRange] = useState('1h');
  const [history, setHistory] = useState({ range: null, data: null, error: null });
  const [long, setLong] = useState(keepsHistory);
  const path = `/api/v1/targets/${part(target)}/checks/${part(check.name)}/history`;
  useEffect(() => {
    if (keepsHistory !== null) return;
    get(`${path}?range=24h`).then(
      () => { keepsHistory = true; setLong(true); },
      (error) => { if (error instanceof ApiError && error.status === 404) { keepsHistory = false; setLong(false); } });
  }, [path]);
  useEffect(() => {
    if (range === '1h') return undefined;
    let current = true;
    const read = () => get(`${path}?range=${range}`).then(
      (data) => current && setHistory({ range, data, error: null }),
      (error) => current && setHistory({ range, data: null, error }));
    read();
    const timer = setInterval(read, 60_000);
    return () => { current = false; clearInterval(timer); };
  }, [range, path]);
  const ready = range !== '1h' && history.range === range ? history.data : null;
  const title = RANGES.find(([key]) => key === range)[2];
  return html`<div class="title latency-head"><h3>Latency</h3>
    ${long && html`<div class="ranges" role="group" aria-label="Range">${RANGES.map(([key, text, words]) => html`
      <button type="button" key=${key} aria-pressed=${key === range} aria-label=${`${text}: the last ${words}`} onClick=${() => setRange(key)}>${text}</button>`)}</div>`}
    <span class="muted num">${range === '1h' ? ofWindow(check.window) : ready ? ofHistory(ready) : ''}</span></div>
    ${range === '1h' && html`<${Hour} check=${check} />`}
    ${range !== '1h' && history.range === range && history.error && html`<p class="muted">${history.error.message}</p>`}
    ${range !== '1h' && !ready && !history.error && html`<p class="note">Reading …</p>`}
    ${ready && html`<${Long} data=${ready} title=${title} />`}`;
}

const ofWindow = (window) => (window.p50_seconds === null ? '' : `p50 ${duration(window.p50_seconds)} · p95 ${duration(window.p95_seconds)} · p99 ${duration(window.p99_seconds)}`);
const percent = (share) => (share === null || share === undefined ? '–' : `${(Math.floor(share * 100_000) / 1000).toFixed(share === 1 ? 0 : 3)} %`);
const ofHistory = (data) => `available ${percent(data.availability)}`;

function Hour({ check }) {
  const runs = (check.recent ?? []).map((run) => ({ at: Date.parse(run.at), seconds: run.took_seconds, failed: run.failed }));
  if (runs.length < 2) return html`<p class="muted">Too few runs for a chart yet.</p>`;
  const words = (run) => [moment(run.at), run.failed ? `failed after ${duration(run.seconds)}` : duration(run.seconds)];
  const failed = runs.filter((run) => run.failed).length;
  return html`<${Chart} points=${runs} from=${runs[0].at} until=${runs.at(-1).at} words=${words} dots=${true}
    label=${`Latency of ${check.name} in the last hour: ${runs.length} runs, ${failed} failed. ${ofWindow(check.window)}`}
    legend=${[['dot', 'a run that passed'], ['cross', 'one that failed']]} />`;
}

function Long({ data, title }) {
  const step = data.step_seconds * 1000;
  const points = data.buckets.map((bucket) => ({ ...bucket, at: Date.parse(bucket.start) + step / 2, start: Date.parse(bucket.start) }));
  if (points.length === 0) return html`<p class="muted">Nothing is kept of this range yet.</p>`;
  const words = (bucket) => [
    moment(bucket.start),
    `${bucket.runs} runs, ${bucket.failed} failed${bucket.inconclusive > 0 ? `, ${bucket.inconclusive} inconclusive` : ''}`,
    bucket.p50_seconds === null ? 'no latency' : `p50 ${duration(bucket.p50_seconds)}, p95 ${duration(bucket.p95_seconds)}, p99 ${duration(bucket.p99_seconds)}`,
    `available ${percent(bucket.availability)}`,
    ...Object.entries(bucket.failures ?? {}).map(([reason, count]) => `${reason}: ${count}`),
  ];
  return html`<${Chart} points=${points} from=${points[0].start} until=${points.at(-1).start + step} words=${words} step=${step}
    label=${`Latency in the last ${title}, available ${percent(data.availability)}`}
    legend=${[['p50', 'p50'], ['p95', 'p95'], ['p99', 'p99'], ['up', 'available'], ['down', 'not'], ['gap', 'unknown']]} />
    <details><summary>As a table</summary><div class="scroll"><table><thead><tr><th scope="col">From</th><th scope="col">Runs</th><th scope="col">Failed</th><th scope="col">p50</th><th scope="col">p95</th><th scope="col">p99</th><th scope="col">Available</th></tr></thead>
      <tbody>${points.filter((bucket) => bucket.runs > 0).reverse().map((bucket) => html`<tr key=${bucket.start} class="num"><td class="narrow">${moment(bucket.start)}</td><td>${bucket.runs}</td><td>${bucket.failed}</td><td>${duration(bucket.p50_seconds)}</td><td>${duration(bucket.p95_seconds)}</td><td>${duration(bucket.p99_seconds)}</td><td>${percent(bucket.availability)}</td></tr>`)}</tbody></table></div></details>`;
}
