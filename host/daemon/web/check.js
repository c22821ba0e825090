// One check of a target: its record, its thresholds and intervals, its latency, and a probe by hand.
import { html, useState } from './lib.js';
import { may, part, post } from './api.js';
import { isStale } from './store.js';
import { duration, span } from './time.js';
import { Act, Age, Mark, Took } from './parts.js';
import { Bars } from './bars.js';
import { Latency } from './latency.js';

export function CheckPanel({ target, check, again }) {
  const [result, setResult] = useState(null);
  const checkedAt = check.checked_at === null ? null : Date.parse(check.checked_at);
  const stale = isStale({ target, check, checkedAt });
  const probe = async () => {
    setResult(await post(`/api/v1/targets/${part(target.id)}/checks/${part(check.name)}/probe`));
    again();
  };
  const heading = `check-${check.name}`;
  return html`<section class="panel" aria-labelledby=${heading}>
    <header><h2 id=${heading}>${check.name}</h2><${Mark} of=${target.enabled ? check.status : 'disabled'} />
      ${check.kind !== check.name && html`<span class="tag">${check.kind}</span>`}<span class="tag">${check.role}</span>
      ${stale && html`<span class="tag warn">stale</span>`}
      ${!check.probing_enabled && html`<span class="tag warn">not probed on schedule</span>`}
      <div class="end">${may('operator') && html`<${Act} label="Probe now" tone="primary" work=${probe} />`}</div></header>
    ${check.problem && html`<p class="problem">Not probed: ${check.problem}</p>`}
    ${check.reason && html`<p class="problem"><b>${check.reason}</b>: ${check.message}</p>`}
    ${check.last_error && html`<p class="problem">The last probe was inconclusive: ${check.last_error}</p>`}
    ${result && html`<${Result} result=${result} close=${() => setResult(null)} />`}
    <dl class="facts">
      <div><dt>Last result</dt><dd><${Age} at=${check.checked_at} stale=${stale} />${stale ? html` <span class="stale">stale</span>` : ' ago'}</dd></div>
      <div><dt>Last pass</dt><dd><${Age} at=${check.last_success_at} />${check.last_success_at ? ' ago' : ''}</dd></div>
      <div><dt>Failures in a row</dt><dd><${Meter} count=${check.streak} most=${check.failure_threshold} /></dd></div>
      <div><dt>Inconclusive in a row</dt><dd><${Meter} count=${check.inconclusive_streak} most=${check.inconclusive_threshold} /></dd></div>
      <div><dt>Interval, deadline</dt><dd>${check.interval_seconds > 0 ? `every ${every(check.interval_seconds)}` : 'by hand only'}, ${every(check.timeout_seconds)}</dd></div>
      <div><dt>Probes</dt><dd class="mono">${check.subject || '–'}</dd></div>
      <div><dt>Last runs</dt><dd><${Bars} recent=${check.recent?.slice(-30)} /></dd></div>
      <div><dt>Last hour</dt><dd class="num">${check.window.count === 0 ? 'no runs' : `${check.window.failed} of ${check.window.count} failed`}</dd></div>
    </dl>
    <${Latency} target=${target.id} check=${check} />
    <details><summary>Config of ${check.name}</summary><pre class="mono scroll">${JSON.stringify(check.config, null, 2)}</pre></details>
  </section>`;
}

const every = (seconds) => (seconds < 100 ? `${seconds} s` : span(seconds));

// How many of how many: squares, and the words.
function Meter({ count, most }) {
  const squares = most <= 8 ? Array.from({ length: most }, (_, place) => html`<i key=${place} class=${place < count ? 'on' : ''} />`) : null;
  return html`<span class="num">${count <= most ? `${count} of ${most}` : `${count}, threshold ${most}`}</span>${squares && html`<span class="meter" aria-hidden="true">${squares}</span>`}`;
}

function Result({ result, close }) {
  return html`<div class="result" role="status">
    <div class="title"><${Mark} of=${result.outcome} /><span>${result.reason ? `${result.reason}: ` : ''}${result.message}</span>
      <span class="muted"><${Took} seconds=${result.took_seconds} /> · ${result.recorded ? 'recorded' : `not recorded: ${result.not_recorded}`}${result.recorded && result.from !== result.to ? `, ${result.from} → ${result.to}` : ''}</span>
      <div class="end"><button type="button" class="button quiet" onClick=${close} aria-label="Close the result">✕</button></div></div>
    ${result.measurements.length > 0 && html`<h4>Measurements</h4><dl class="facts">${result.measurements.map((one) => html`<div key=${one.name}><dt>${one.name}</dt><dd class="num">${measured(one)}</dd></div>`)}</dl>`}
    ${result.calls.length > 0 && html`<details><summary>${result.calls.length === 1 ? '1 call' : `${result.calls.length} calls`}</summary><div class="scroll"><table><thead><tr><th scope="col">At</th><th scope="col">Took</th><th scope="col">Call</th><th scope="col">Result</th></tr></thead>
      <tbody>${result.calls.map((call, place) => html`<tr key=${place}><td class="narrow num">${duration(call.start)}</td><td class="narrow num">${duration(call.took)}</td><td>${call.capability} <code>${call.what}</code></td><td>${call.result}</td></tr>`)}</tbody></table></div></details>`}
    ${result.log.length > 0 && html`<details><summary>Log</summary><ul>${result.log.map((line, place) => html`<li key=${place} class="mono">${line.level} ${line.message}</li>`)}</ul></details>`}
  </div>`;
}

function measured({ value, unit }) {
  if (unit === 'seconds') return duration(value);
  if (unit === 'ratio') return `${(value * 100).toFixed(1)} %`;
  const shown = Number.isInteger(value) ? String(value) : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
  return unit === 'number' ? shown : `${shown} ${unit}`;
}
