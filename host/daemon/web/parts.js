// What several views share: marks, ages, buttons, messages, dialogs.
import { html, useEffect, useRef, useState } from './lib.js';
import { duration, moment, span, useNow } from './time.js';

// Each status has a shape of its own, so that no colour is needed to tell it.
const SHAPES = {
  healthy: () => html`<circle cx="8" cy="8" r="7" fill="currentColor" /><path d="M4.8 8.2l2.2 2.2 4.2-4.6" class="cut" />`,
  unhealthy: () => html`<path d="M8 .6L15.4 8 8 15.4.6 8z" fill="currentColor" /><path d="M8 4.4v4.2M8 10.6v1" class="cut" />`,
  unknown: () => html`<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="3 2" />`,
  disabled: () => html`<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.6" /><path d="M4.8 8h6.4" stroke="currentColor" stroke-width="1.8" />`,
  moving: () => html`<path d="M13.6 8a5.6 5.6 0 1 1-1.8-4.1M12.4 1v3.4H9" fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />`,
  aside: () => html`<rect x="1.5" y="1.5" width="13" height="13" rx="2" fill="currentColor" /><path d="M5.8 5v6M10.2 5v6" class="cut" />`,
  act: () => html`<circle cx="8" cy="8" r="3.4" fill="currentColor" />`,
};
const SHAPE_OF = {
  running: 'healthy', offline: 'unhealthy', restarting: 'moving', updating: 'moving', quarantined: 'aside',
  pass: 'healthy', fail: 'unhealthy', inconclusive: 'unknown', delivered: 'healthy', pending: 'moving', dead: 'unhealthy', ready: 'healthy', failed: 'unhealthy',
};

export function Shape({ of }) {
  return html`<svg viewBox="0 0 16 16" aria-hidden="true">${(SHAPES[SHAPE_OF[of] ?? of] ?? SHAPES.act)()}</svg>`;
}
export function Mark({ of, text }) {
  const tone = { delivered: 'healthy', ready: 'healthy', failed: 'unhealthy' }[of] ?? of;
  return html`<span class="mark ${tone}"><${Shape} of=${of} /><span class="word">${text ?? of}</span></span>`;
}

// How long ago, second by second; the moment itself as a title.
export function Age({ at, stale, none = 'never' }) {
  const time = useNow();
  if (at === null || at === undefined) return html`<span class="muted">${none}</span>`;
  const from = typeof at === 'number' ? at : Date.parse(at);
  return html`<time class="num ${stale ? 'stale' : ''}" datetime=${new Date(from).toISOString()} title=${moment(from)}>${span((time - from) / 1000)}</time>`;
}

export const Took = ({ seconds }) => html`<span class="num">${duration(seconds)}</span>`;

export function Labels({ labels }) {
  return Object.entries(labels).map(([key, value]) => html`<span class="tag" key=${key}>${key}=${value}</span>`);
}

// A button that says that it is at work, and shows what came of it.
export function Act({ label, work, tone = '', disabled = false }) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await work();
    } catch (error) {
      toast(error.message, true);
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class="button ${tone}" disabled=${disabled} aria-disabled=${busy} onClick=${go}>${busy ? `${label} …` : label}</button>`;
}

let addToast = () => {};
export function toast(text, bad = false) { addToast({ text, bad, key: Math.random() }); }
export function Toasts() {
  const [shown, set] = useState([]);
  const drop = (key) => set((now) => now.filter((one) => one.key !== key));
  addToast = (one) => {
    set((now) => [...now.slice(-3), one]);
    if (!one.bad) setTimeout(() => drop(one.key), 6000);
  };
  return html`<div class="toasts" role="status" aria-live="polite">${shown.map((one) => html`
    <div class="toast ${one.bad ? 'bad' : ''}" key=${one.key}><div>${one.text}</div>
      <button type="button" class="button quiet" aria-label="Dismiss this message" onClick=${() => drop(one.key)}>✕</button></div>`)}</div>`;
}

// Says something to who listens, and shows nothing.
export function say(text) {
  const place = document.getElementById('said');
  if (place) place.textContent = text;
}

let ask = null;
// Asks before something is done. Gives null, or the text of the field.
export function confirm(question) {
  return new Promise((resolve) => ask({ ...question, resolve }));
}
export function Dialogs() {
  const [question, set] = useState(null);
  const box = useRef(null);
  const field = useRef(null);
  ask = set;
  useEffect(() => { if (question && !box.current.open) box.current.showModal(); }, [question]);
  if (!question) return null;
  const close = (answer) => {
    box.current.close();
    set(null);
    question.resolve(answer);
  };
  const submit = (event) => {
    event.preventDefault();
    close(field.current?.value ?? '');
  };
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onCancel=${(event) => { event.preventDefault(); close(null); }}>
    <form onSubmit=${submit}>
      <h2 id="dialog-title">${question.title}</h2><p class="muted">${question.text}</p>
      ${question.field && html`<label class="field">${question.field}<input ref=${field} maxlength="200" autocomplete="off" /></label>`}
      <div class="actions"><button type="button" class="button" onClick=${() => close(null)}>Cancel</button>
        <button type="submit" class="button ${question.danger ? 'danger' : 'primary'}">${question.yes}</button></div>
    </form></dialog>`;
}

export function Select({ label, name, value, options, onChange }) {
  return html`<label class="field">${label}<select name=${name} value=${value} onChange=${(event) => onChange(event.target.value)}>
    ${options.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}</select></label>`;
}

// Reads something when `path` changes or `again` does; keeps what it had while it reads.
export function useRead(read, keys) {
  const [state, set] = useState({ data: null, error: null, loading: true });
  useEffect(() => {
    let current = true;
    set((before) => ({ ...before, loading: true }));
    read().then(
      (data) => current && set({ data, error: null, loading: false }),
      (error) => current && set((before) => ({ ...before, error, loading: false })),
    );
    return () => { current = false; };
  }, keys);
  return state;
}
