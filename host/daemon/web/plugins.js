// The plugins: what serves, what did not load and why, and what each can do and can be told.
import { html, useEffect, useState } from './lib.js';
import { get } from './api.js';
import { Age, Mark, useRead } from './parts.js';
import { duration } from './time.js';

export function Plugins() {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) setTurn((n) => n + 1); }, 15_000);
    return () => clearInterval(timer);
  }, []);
  const { data, error } = useRead(() => get('/api/v1/plugins'), [turn]);
  return html`<h1>Plugins</h1>${error && html`<p class="problem" role="alert">${error.message}</p>`}
    ${!data && !error && html`<p class="note">Reading …</p>`}
    ${data?.plugins.map((plugin) => html`<${Plugin} key=${`${plugin.name} ${plugin.source} ${plugin.state}`} plugin=${plugin} />`)}`;
}

function Plugin({ plugin }) {
  const { faults } = plugin;
  const heading = `plugin-${plugin.name}-${plugin.state}`;
  return html`<section class="panel" aria-labelledby=${heading}>
    <header><h2 id=${heading}>${plugin.name}</h2>${plugin.version && html`<span class="tag">${plugin.version}</span>`}<${Mark} of=${plugin.state} />
      ${faults.count > 0 && html`<span class="tag bad">${faults.count === 1 ? '1 fault' : `${faults.count} faults`}</span>`}</header>
    ${plugin.description && html`<p>${plugin.description}</p>`}
    ${plugin.error && html`<p class="problem">${plugin.error}</p>`}
    ${faults.last && html`<p class="problem">Last fault <${Age} at=${faults.last_at} /> ago, ${faults.in_a_row} in a row: ${faults.last}</p>`}
    <dl class="facts">
      <div><dt>Source</dt><dd>${plugin.source}</dd></div>
      <div><dt>Capabilities</dt><dd>${plugin.capabilities.length > 0 ? plugin.capabilities.map((name) => html`<span class="tag" key=${name}>${name}</span> `) : 'none'}</dd></div>
      ${plugin.interval_seconds && html`<div><dt>Interval</dt><dd class="num">${plugin.interval_seconds.default} s (${plugin.interval_seconds.minimum} to ${plugin.interval_seconds.maximum} s)</dd></div>`}
      ${plugin.timeout_seconds !== null && html`<div><dt>Deadline</dt><dd class="num">${plugin.timeout_seconds} s</dd></div>`}
      ${plugin.failure_threshold !== null && html`<div><dt>Failure threshold</dt><dd class="num">${plugin.failure_threshold}</dd></div>`}
      ${plugin.concurrency !== null && html`<div><dt>Probes at once</dt><dd class="num">${plugin.concurrency}</dd></div>`}
      ${plugin.size_bytes !== null && html`<div><dt>Size, compiled in</dt><dd class="num">${Math.round(plugin.size_bytes / 1024)} KiB, ${duration(plugin.compile_seconds)}</dd></div>`}
      ${plugin.sdk && html`<div><dt>SDK</dt><dd class="mono">${plugin.sdk}</dd></div>`}
      ${plugin.sha256 && html`<div class="wide"><dt>SHA-256</dt><dd class="mono">${plugin.sha256}</dd></div>`}
    </dl>
    ${plugin.config_schema && html`<details><summary>Config of a ${plugin.name} check</summary><${Schema} schema=${plugin.config_schema} /></details>`}
  </section>`;
}

// A JSON Schema as a table; what is nested is named by its path.
function Schema({ schema }) {
  const rows = [];
  walk(schema, schema, '', rows, 0);
  if (rows.length === 0) return html`<p class="muted">It takes no config.</p>`;
  return html`<div class="scroll"><table><thead><tr><th scope="col">Key</th><th scope="col">Type</th><th scope="col">Needed</th><th scope="col">What</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.key}><td class="narrow"><code>${row.key}</code></td><td class="narrow">${row.type}</td><td class="narrow">${row.needed ? 'yes' : ''}</td><td>${row.what}<span class="muted">${row.limits}</span></td></tr>`)}</tbody></table></div>`;
}

function walk(root, schema, prefix, rows, depth) {
  for (const [name, raw] of Object.entries(schema.properties ?? {})) {
    const of = resolved(root, raw);
    const key = prefix + name;
    rows.push({ key, type: typeOf(root, of), needed: (schema.required ?? []).includes(name), what: raw.description ?? of.description ?? '', limits: limits(of) });
    if (depth < 3) {
      walk(root, of, `${key}.`, rows, depth + 1);
      if (of.items) walk(root, resolved(root, of.items), `${key}[].`, rows, depth + 1);
    }
  }
}

function resolved(root, schema) {
  const path = schema?.$ref?.startsWith('#/') ? schema.$ref.slice(2).split('/') : null;
  return path ? path.reduce((at, key) => at?.[key], root) ?? {} : schema;
}

function typeOf(root, schema) {
  if (schema.enum) return 'choice';
  const several = schema.anyOf ?? schema.oneOf;
  if (several) return several.map((one) => typeOf(root, resolved(root, one))).filter((one) => one !== 'null').join(' or ');
  const types = [schema.type ?? 'any'].flat().filter((one) => one !== 'null').join(' or ');
  return schema.items ? `${types} of ${typeOf(root, resolved(root, schema.items))}` : types;
}

function limits(schema) {
  const said = [];
  if (schema.default !== undefined && schema.default !== null && schema.default !== '') said.push(`default ${JSON.stringify(schema.default)}`);
  if (schema.enum) said.push(schema.enum.map((one) => JSON.stringify(one)).join(', '));
  if (schema.minimum !== undefined || schema.maximum !== undefined) said.push(`${schema.minimum ?? ''} to ${schema.maximum ?? ''}`);
  if (schema.maxLength !== undefined) said.push(`at most ${schema.maxLength} characters`);
  if (schema.pattern) said.push(`like ${schema.pattern}`);
  return said.length > 0 ? ` (${said.join('; ')})` : '';
}
