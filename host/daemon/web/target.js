// One target: its checks, how fast they are, what happened and why, and what it may reach.
import { html, useEffect, useMemo, useState } from './lib.js';
import { ApiError, call, get, may, part, post } from './api.js';
import { onEvents } from './live.js';
import { useFleet } from './store.js';
import { Act, confirm, Labels, Mark, toast, useRead } from './parts.js';
import { CheckPanel } from './check.js';
import { Managed } from './managed.js';
import { Timeline } from './timeline.js';
import { Reach } from './reach.js';
import { go } from './route.js';

export function TargetView({ id, query }) {
  const fleet = useFleet();
  const known = fleet.targets.get(id);
  // What is read for this view alone is read again when something happens to the target.
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((n) => n + 1);
  useEffect(() => onEvents((events) => {
    if (events.length === 0 || events.some((event) => event.target === id)) again();
  }), [id]);
  // And when the list has news of it, which has no configs.
  const newest = known?.checks.map((check) => check.last_attempt_at).join() ?? '';
  const { data: target, error } = useRead(() => get(`/api/v1/targets/${part(id)}?recent=256`), [id, turn, newest, known?.updated_at]);
  const instance = fleet.instances.get(id);
  const report = useRead(() => (instance ? get(`/api/v1/health/instances/${part(id)}`) : Promise.resolve(null)), [id, turn, instance !== undefined]);
  const title = useMemo(() => ({ standing: !target ? 'unknown' : target.enabled ? target.status : 'disabled' }), [target]);
  if (!target) {
    const gone = error instanceof ApiError && error.status === 404;
    return html`<p class="path"><a href="#/">Fleet</a></p><p class="note" role="status">${gone ? `There is no target ${id}.` : error ? error.message : 'Reading …'}</p>`;
  }
  return html`
    <nav class="path" aria-label="Path"><a href="#/">Fleet</a><span aria-hidden="true">/</span><span>${id}</span></nav>
    <div class="title"><h1>${target.name}</h1><${Mark} of=${title.standing} />
      ${instance && html`<${Mark} of=${instance.state} />`}
      <div class="end"><${Buttons} target=${target} instance=${instance} again=${again} /></div></div>
    <p class="under"><code>${id}</code><${Labels} labels=${target.labels} />
      <span>${target.source === 'file' ? 'from the configuration file' : 'from the API'}</span></p>
    ${error && html`<p class="problem" role="alert">${error.message}</p>`}
    ${instance && html`<${Managed} instance=${instance} report=${report.data} />`}
    ${target.checks.map((check) => html`<${CheckPanel} key=${check.name} target=${target} check=${check} query=${query} again=${again} />`)}
    <div class="split"><${Timeline} id=${id} target=${target} report=${report.data} turn=${turn} /><${Reach} id=${id} updated=${target.updated_at} /></div>`;
}

function Buttons({ target, instance, again }) {
  if (!may('operator')) return null;
  const path = `/api/v1/targets/${part(target.id)}`;
  const managed = `/api/v1/health/instances/${part(target.id)}`;
  const done = (text) => { toast(text); again(); };
  const restart = async () => {
    const answer = await confirm({ title: `Restart ${target.id}?`, text: 'It gets no work until it is live and ready again.', yes: 'Restart' });
    if (answer === null) return;
    await post(`${managed}/restart`);
    done(`The restart of ${target.id} is decided.`);
  };
  const quarantine = async () => {
    const answer = await confirm({ title: `Quarantine ${target.id}?`, text: 'It is not restarted and gets no work until it is released.', yes: 'Quarantine', danger: true, field: 'Why (for the audit)' });
    if (answer === null) return;
    await post(`${managed}/quarantine`, { message: answer });
    done(`${target.id} is set aside.`);
  };
  const release = async () => {
    const answer = await confirm({ title: `Release ${target.id}?`, text: 'Its quarantine ends with a restart.', yes: 'Release' });
    if (answer === null) return;
    await post(`${managed}/release`);
    done(`${target.id} is released.`);
  };
  const enable = async () => { await post(`${path}/enable`); done(`${target.id} is probed on schedule again.`); };
  const disable = async () => {
    const answer = await confirm({ title: `Disable ${target.id}?`, text: 'It is probed by hand only. Its records stand.', yes: 'Disable' });
    if (answer === null) return;
    await post(`${path}/disable`);
    done(`${target.id} is disabled.`);
  };
  const state = instance?.state;
  return html`
    ${instance && target.enabled && ['unknown', 'running', 'offline'].includes(state) && html`<${Act} label="Restart" work=${restart} />`}
    ${instance && target.enabled && !['quarantined', 'updating'].includes(state) && html`<${Act} label="Quarantine" tone="danger" work=${quarantine} />`}
    ${instance && state === 'quarantined' && html`<${Act} label="Release" work=${release} />`}
    ${target.source === 'api' && (target.enabled ? html`<${Act} label="Disable" work=${disable} />` : html`<${Act} label="Enable" work=${enable} />`)}
    ${target.source === 'api' && may('admin') && html`<${Act} label="Delete" tone="danger" work=${async () => {
      const answer = await confirm({ title: `Delete ${target.id}?`, text: 'Its records go too; its history and audit stay, and the id is never used again.', yes: 'Delete', danger: true });
      if (answer === null) return;
      await call('DELETE', path);
      toast(`${target.id} is deleted.`);
      go('/');
    }} />`}`;
}
