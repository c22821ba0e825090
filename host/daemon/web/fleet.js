// The fleet: every check of every target, with search, filters, groups, and counts at the top.
import { Component, html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from './lib.js';
import { isStale, useFleet } from './store.js';
import { duration, useNow } from './time.js';
import { Age, Labels, Mark, Select } from './parts.js';
import { Bars } from './bars.js';
import { choices, counts, EMPTY, filtered, grouped, sorted, standing } from './filters.js';
import { useWindow } from './window.js';
import { go, part } from './route.js';

const COUNTS = [['unhealthy', 'unhealthy'], ['unknown', 'unknown'], ['stale', 'stale'], ['healthy', 'healthy'], ['disabled', 'disabled']];
const SORTS = [['status', 'worst first'], ['name', 'name'], ['latency', 'slowest first'], ['age', 'oldest first']];

export function Fleet({ query }) {
  const fleet = useFleet();
  // Whether something is stale changes with time alone: looked at every few seconds.
  const at = Math.floor(useNow() / 5000) * 5000;
  const wanted = { ...EMPTY, ...query };
  const [closed, setClosed] = useState(new Set());
  const set = (key, value) => {
    const next = { ...wanted, [key]: value };
    const kept = Object.fromEntries(Object.entries(next).filter(([name, text]) => text !== EMPTY[name]));
    go('/', kept, true);
  };
  const { rows, instances } = fleet;
  const total = useMemo(() => counts(rows, at), [rows, at]);
  const options = useMemo(() => choices(rows, instances), [rows, instances]);
  const key = JSON.stringify(wanted);
  const shown = useMemo(
    () => sorted(filtered(rows, wanted, instances, at), wanted.sort, at), [rows, instances, key, at]);
  const items = useMemo(() => grouped(shown, wanted.group, closed), [shown, wanted.group, closed]);
  const toggle = (group) => {
    const next = new Set(closed);
    if (!next.delete(group)) next.add(group);
    setClosed(next);
  };
  const everything = Object.keys(query).filter((name) => name !== 'sort' && name !== 'group').length === 0;
  return html`
    <h1 class="hidden">Fleet</h1>
    <div class="counts" role="group" aria-label="Checks by status">
      <button type="button" class="count" aria-pressed=${wanted.status === ''} onClick=${() => set('status', '')}><b>${total.all}</b> checks</button>
      ${COUNTS.filter(([name]) => total[name] > 0 || name === wanted.status || name === 'unhealthy' || name === 'healthy').map(([name, word]) => html`
        <button type="button" key=${name} class="count ${name === 'stale' ? 'stale-count' : name} ${total[name] > 0 ? 'some' : ''}" aria-pressed=${wanted.status === name}
          onClick=${() => set('status', wanted.status === name ? '' : name)}><b>${total[name]}</b> ${word}</button>`)}
    </div>
    <div class="head" role="search">
      <label class="search"><span class="hidden">Search targets, checks, labels and messages</span>
        <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2zM10.8 10.8L14.5 14.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" /></svg>
        <input id="search" type="search" placeholder="Search name, label, message" value=${wanted.q} autocomplete="off" spellcheck=${false}
          onInput=${(event) => set('q', event.target.value)} /></label>
      <${Select} label="Kind" name="kind" value=${wanted.kind} onChange=${(value) => set('kind', value)} options=${[['', 'all kinds'], ...options.kinds.map((kind) => [kind, kind])]} />
      ${(options.states.length > 0 || wanted.state) && html`<${Select} label="Lifecycle" name="state" value=${wanted.state} onChange=${(value) => set('state', value)}
        options=${[['', 'any state'], ...options.states.map((state) => [state, state])]} />`}
      <${Select} label="Group by" name="group" value=${wanted.group} onChange=${(value) => set('group', value)}
        options=${[['', 'nothing'], ...options.labels.map((label) => [label, `label ${label}`]), [':kind', 'kind'], [':target', 'target']]} />
      <${Select} label="Order" name="sort" value=${wanted.sort} onChange=${(value) => set('sort', value)} options=${SORTS} />
    </div>
    <div class="fleet">
      <div class="columns" aria-hidden="true"><span>Status</span><span>Target</span><span class="kind">Kind</span><span>Last runs</span><span class="right">Took</span><span class="right">Age</span><span>Why</span></div>
      ${fleet.loaded && html`<${List} items=${items} at=${at} instances=${instances} toggle=${toggle} />`}
      ${!fleet.loaded && html`<p class="note">${fleet.error ?? 'Reading the fleet …'}</p>`}
      ${fleet.loaded && items.length === 0 && html`<p class="note">${rows.length === 0 ? 'Nothing is watched yet. Add [[targets]] to the configuration file, or POST one to /api/v1/targets.' : 'No check is as asked for.'}
        ${!everything && html` <button type="button" class="button" onClick=${() => go('/', {}, true)}>Show all</button>`}</p>`}
    </div>
    <p class="hints"><kbd>/</kbd> search   <kbd>↑</kbd> <kbd>↓</kbd> move   <kbd>Enter</kbd> open   <kbd>Esc</kbd> back</p>
    <p class="hidden" role="status">${fleet.loaded ? `${shown.length} of ${rows.length} checks shown` : ''}</p>`;
}

// Where who looks at the fleet was: on the way back from a target it is found again.
let lastActive = null;

// Only what is in sight is in the document, so that thousands are no more work than dozens.
function List({ items, at, instances, toggle }) {
  const list = useRef(null);
  const { first, last, high, show } = useWindow(list, items.length);
  const [active, setActive] = useState(lastActive);
  useEffect(() => { lastActive = active; }, [active]);
  const place = Math.max(0, items.findIndex((item) => item.key === active));
  const wantsFocus = useRef(false);
  useEffect(() => { if (items[place]?.key === active) show(place); }, []);
  // Before the next key: Enter right after an arrow is meant for the row that the arrow led to.
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    list.current?.querySelector('[tabindex="0"]')?.focus({ preventScroll: true });
  });
  const move = (to) => {
    const next = Math.min(Math.max(to, 0), items.length - 1);
    wantsFocus.current = true;
    setActive(items[next].key);
    show(next);
  };
  const onKeyDown = (event) => {
    const page = Math.max(1, Math.floor(window.innerHeight / high) - 4);
    const steps = { ArrowDown: place + 1, ArrowUp: place - 1, j: place + 1, k: place - 1, PageDown: place + page, PageUp: place - page, Home: 0, End: items.length - 1 };
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in steps)) return;
    event.preventDefault();
    move(steps[event.key]);
  };
  const onFocus = useCallback((event) => {
    const key = event.target.closest('li')?.dataset.key;
    if (key) setActive(key);
  }, []);
  const shown = [];
  for (let index = first; index < last; index += 1) shown.push([index, items[index]]);
  // The one that has the focus stays, wherever the page is scrolled to.
  if (place < first || place >= last) shown.push([place, items[place]]);
  return html`<ul class="list" id="fleet-list" ref=${list} style=${{ height: `${items.length * high}px` }} aria-label="Checks" onKeyDown=${onKeyDown} onFocusIn=${onFocus}>
    ${shown.filter(([, item]) => item).map(([index, item]) => html`
      <li key=${item.key} data-key=${item.key} style=${{ transform: `translateY(${index * high}px)` }} aria-posinset=${index + 1} aria-setsize=${items.length}>
        ${item.rows
          ? html`<${Head} head=${item} active=${index === place} toggle=${toggle} />`
          : html`<${Row} row=${item} active=${index === place} stale=${isStale(item, at)} instance=${instances.get(item.target.id)} />`}
      </li>`)}</ul>`;
}

function Head({ head, active, toggle }) {
  const down = head.rows.filter((row) => standing(row) === 'unhealthy').length;
  return html`<button type="button" class="group" tabindex=${active ? 0 : -1} aria-expanded=${head.open} onClick=${() => toggle(head.group)}>
    <span class="turn" aria-hidden="true">${head.open ? '▾' : '▸'}</span>${head.label}<span class="tag">${head.rows.length}</span>
    ${down > 0 && html`<span class="tag bad">${down} unhealthy</span>`}</button>`;
}

// A row is drawn again only when what it shows is another.
class Row extends Component {
  shouldComponentUpdate(next) {
    return ['row', 'active', 'stale', 'instance'].some((key) => next[key] !== this.props[key]);
  }

  render({ row, active, stale, instance }) {
    const { target, check } = row;
    const status = standing(row);
    const last = check.recent?.at(-1);
    const alone = target.checks.length === 1;
    const state = instance && instance.state !== 'running' ? instance.state : null;
    return html`<a class="row ${stale ? 'is-stale' : ''} ${target.enabled ? '' : 'is-off'}" href=${`#/targets/${part(target.id)}`} tabindex=${active ? 0 : -1}>
      <span class="status"><${Mark} of=${status} /></span>
      <span class="name" title=${target.name}><b>${target.id}</b>${alone ? '' : html` <small>/ ${check.name}</small>`}${target.name !== target.id && html` <small>${target.name}</small>`}
        ${state && html`<span class="tag ${state === 'offline' || state === 'quarantined' ? 'bad' : 'warn'}">${state}</span>`}</span>
      <span class="kind">${check.kind}</span>
      <span class="runs"><${Bars} recent=${check.recent} /></span>
      <span class="latency num">${last && !last.failed ? duration(last.took_seconds) : '–'}</span>
      <span class="age">${stale && html`<span class="stale">stale </span>`}<${Age} at=${row.checkedAt} stale=${stale} /></span>
      <span class="why"><${Why} check=${check} target=${target} /></span></a>`;
  }
}

function Why({ check, target }) {
  if (check.problem) return html`<b>not probed</b> ${check.problem}`;
  if (check.reason) {
    const count = check.status !== 'unhealthy' ? ` (${check.streak} of ${check.failure_threshold})` : '';
    return html`<b>${check.reason}</b>${count} ${check.message}`;
  }
  if (check.last_error) return html`inconclusive: ${check.last_error}`;
  if (!target.enabled) return 'disabled';
  return html`<${Labels} labels=${target.labels} />`;
}
