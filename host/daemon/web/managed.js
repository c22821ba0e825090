// The lifecycle of a managed target: where it is, since when, and what comes next.
import { html } from './lib.js';
import { span, useNow } from './time.js';
import { Age, Mark } from './parts.js';

export function Managed({ instance, report }) {
  const policy = report?.lifecycle;
  const runtime = report?.runtime ? Object.entries(report.runtime).map(([kind, name]) => `${kind} ${typeof name === 'string' ? name : JSON.stringify(name)}`).join(', ') : '';
  return html`<section class="panel" aria-labelledby="lifecycle-title">
    <header><h2 id="lifecycle-title">Lifecycle</h2><${Mark} of=${instance.state} />
      <span class="tag ${instance.poolable ? 'good' : ''}">${instance.poolable ? 'gets work' : 'gets no work'}</span></header>
    ${instance.message && html`<p class="muted">${instance.reason ? `${instance.reason}: ` : ''}${instance.message}</p>`}
    <dl class="facts">
      <div><dt>In this state for</dt><dd><${Age} at=${instance.since} /></dd></div>
      <div><dt>Restarts that did not hold</dt><dd class="num">${instance.failures} of ${instance.max_restarts} in a row</dd></div>
      <div><dt>Restarts ever</dt><dd class="num">${instance.restarts}</dd></div>
      ${instance.next_attempt_at && html`<div><dt>${instance.state === 'quarantined' ? 'Next probe that may end it' : 'Next restart'}</dt><dd><${Until} at=${instance.next_attempt_at} /></dd></div>`}
      ${instance.attempt && html`<div><dt>Restart ${instance.attempt.number}</dt><dd>${instance.attempt.phase}</dd></div>`}
      ${instance.update && html`<div><dt>Update, advised</dt><dd>${instance.update.verdict ?? 'nothing yet'}</dd></div>`}
      ${runtime && html`<div><dt>Restarted by</dt><dd>${runtime}</dd></div>`}
    </dl>
    ${policy && html`<details><summary>Policy</summary><p>First wait ${policy.base} s, then ${policy.multiplier} times as long each time, at most ${span(policy.cap)}. After ${policy.max_restarts} restarts in a row that did not hold it is set aside. ${policy.healthy_reset} s of uptime set the count back; ${policy.start_budget} s to become ready.</p></details>`}</section>`;
}

function Until({ at }) {
  const left = (Date.parse(at) - useNow()) / 1000;
  return html`<span class="num">${left > 0 ? `in ${span(left)}` : 'due'}</span>`;
}
