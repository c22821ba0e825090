// What the checks of a target may reach, and why.
import { html } from './lib.js';
import { get, part } from './api.js';
import { useRead } from './parts.js';

export function Reach({ id, updated }) {
  const { data, error } = useRead(() => get(`/api/v1/targets/${part(id)}/grants`), [id, updated]);
  return html`<section class="panel" aria-labelledby="reach-title"><header><h2 id="reach-title">What it may reach</h2></header>
    ${error && html`<p class="muted">${error.message}</p>`}
    ${data?.checks.map((check) => html`<div key=${check.check}>
      ${data.checks.length > 1 && html`<h3>${check.check}</h3>`}
      ${check.nothing !== null && html`<p class="muted">Nothing: ${check.nothing}</p>`}
      ${check.refused.map((wish) => html`<p class="problem" key=${wish}>Refused: ${wish}</p>`)}
      <ul>${check.endpoints.map(({ endpoint, by }) => html`<li key=${endpoint}><code>${endpoint}</code>
        <div class="muted">${by === null ? 'its own config names it' : html`<code>${by.pattern}</code> allows it, in ${by.location}`}</div></li>`)}
      ${check.allowed.map(({ pattern, location }) => html`<li key=${pattern}>besides, whatever fits <code>${pattern}</code><div class="muted">allowed for every ${check.kind}, in ${location}</div></li>`)}</ul></div>`)}
    <p class="muted after">Anything else is refused, and the refusal is in the audit.</p></section>`;
}
