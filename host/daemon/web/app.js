// The frame of the page: who is here, where it is, and whether what it shows is live.
import { html, render, useEffect, useRef, useState } from './lib.js';
import { currentSession, logOut, onSession, openSession } from './api.js';
import { forget, useFleet } from './store.js';
import { onEvents, start, stop } from './live.js';
import { useRoute } from './route.js';
import { clock, span, useNow } from './time.js';
import { Dialogs, say, toast, Toasts } from './parts.js';
import { Login } from './login.js';
import { Fleet } from './fleet.js';
import { TargetView } from './target.js';
import { Plugins } from './plugins.js';
import { Audit } from './audit.js';
import { hasNotifications, Notifications } from './notifications.js';
import { keys } from './keys.js';

function useSession() {
  const [session, set] = useState(currentSession());
  useEffect(() => onSession(set), []);
  return session;
}

function App() {
  const session = useSession();
  const [opened, setOpened] = useState(false);
  const [why, setWhy] = useState('');
  const [notifies, setNotifies] = useState(false);
  useEffect(() => {
    let timer = null;
    const look = () => openSession().then(
      () => { setWhy(''); setOpened(true); },
      (error) => { setWhy(error.message); timer = setTimeout(look, 2000); });
    look();
    return () => clearTimeout(timer);
  }, []);
  const principal = session?.principal;
  useEffect(() => {
    if (!session) return undefined;
    start();
    hasNotifications().then(setNotifies);
    return () => { stop(); forget(); };
  }, [principal, session?.role]);
  if (!opened) return html`<main><p class="note" role="status">${why ? `${why}; trying again …` : 'Opening …'}</p></main>`;
  if (!session) return html`<${Login} /><${Toasts} />`;
  return html`<${Shell} session=${session} notifies=${notifies} />`;
}

const TITLES = { targets: 'Fleet', plugins: 'Plugins', audit: 'Audit', notifications: 'Notifications' };

function Shell({ session, notifies }) {
  const route = useRoute();
  const main = useRef(null);
  const view = route.parts[0] ?? '';
  const place = route.parts.join('/');
  useEffect(() => keys(), []);
  useEffect(() => announce(), []);
  const before = useRef(place);
  useEffect(() => {
    document.title = view === 'targets' && route.parts[1] ? `${route.parts[1]} · probehost` : `${TITLES[view] ?? 'Fleet'} · probehost`;
    if (before.current === place) return;
    before.current = place;
    if (place !== '') window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place]);
  const links = [['', 'Fleet'], ['plugins', 'Plugins'], ['audit', 'Audit'], ...(notifies ? [['notifications', 'Notifications']] : [])];
  const current = view === 'targets' ? '' : view;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>To the content</a>
    <header class="top"><div>
      <a class="brand" href="#/"><img src="/assets/logo.svg" alt="" />probehost</a>
      <nav aria-label="Views"><ul>${links.map(([path, text]) => html`<li key=${path}><a href=${`#/${path}`} aria-current=${current === path ? 'page' : undefined}>${text}</a></li>`)}</ul></nav>
      <div class="end"><${Liveness} />
        <span class="who">${session.principal} · ${session.role}</span>
        <${Theme} />
        ${session.csrf_token !== null && html`<button type="button" class="button quiet" onClick=${() => logOut().catch((error) => toast(error.message, true))}>Log out</button>`}</div>
    </div><${Banner} /></header>
    <main id="main" ref=${main} tabindex="-1">${route.parts[0] === 'targets' && route.parts[1]
      ? html`<${TargetView} id=${route.parts[1]} key=${route.parts[1]} query=${route.query} />`
      : view === 'plugins' ? html`<${Plugins} />`
      : view === 'audit' ? html`<${Audit} query=${route.query} />`
      : view === 'notifications' && notifies ? html`<${Notifications} query=${route.query} />`
      : html`<${Fleet} query=${route.query} />`}</main>
    <${Dialogs} /><${Toasts} />`;
}

function Liveness() {
  const { connection } = useFleet();
  const words = { live: 'live', connecting: 'connecting', lost: 'not connected', trouble: 'trouble' };
  const shapes = { live: 'healthy', connecting: 'restarting', lost: 'unhealthy', trouble: 'unhealthy' };
  return html`<span class="mark ${shapes[connection.state]}" data-connection=${connection.state}><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="5" fill=${connection.state === 'live' ? 'currentColor' : 'none'} stroke="currentColor" stroke-width="2" /></svg>${words[connection.state]}</span>`;
}

function Banner() {
  const { connection } = useFleet();
  useNow();
  if (connection.state !== 'lost' && connection.state !== 'trouble') return null;
  const since = `${clock(connection.since)} (${span((Date.now() - connection.since) / 1000)})`;
  return html`<div class="banner ${connection.state}" role="alert"><p>${connection.state === 'lost'
    ? html`No connection to the host since <span aria-live="off">${since}</span>: ${connection.why}. What is shown is from before; trying again …`
    : html`The host answers with trouble since <span aria-live="off">${since}</span>: ${connection.why}`}</p></div>`;
}

function Theme() {
  const [theme, set] = useState(document.documentElement.dataset.theme ?? 'system');
  const choose = (next) => {
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      if (next === 'system') localStorage.removeItem('probehost-theme');
      else localStorage.setItem('probehost-theme', next);
    } catch (_) { /* it lasts as long as the page */ }
    set(next);
  };
  return html`<label><span class="hidden">Theme</span><select class="button quiet" id="theme" value=${theme} onChange=${(event) => choose(event.target.value)}>
    ${['system', 'light', 'dark'].map((name) => html`<option value=${name} selected=${name === theme} key=${name}>${name === 'system' ? 'auto' : name}</option>`)}</select></label>`;
}

// Tells who listens what changes, and not each of hundreds.
function announce() {
  return onEvents((events) => {
    const texts = [];
    for (const event of events) {
      if (event.kind === 'status' && event.from !== event.to) texts.push(`${event.target} ${event.check} is ${event.to}${event.reason ? `, ${event.reason}` : ''}`);
      if (event.kind === 'lifecycle') texts.push(`${event.target} is ${event.to}`);
    }
    if (texts.length > 0) say(texts.length > 3 ? `${texts.length} changes` : texts.join('. '));
  });
}

const place = document.getElementById('app');
place.replaceChildren();
render(html`<${App} />`, place);
