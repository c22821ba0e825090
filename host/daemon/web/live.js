// Keeps what is shown up to date: the event stream for changes, a slow poll for results.
import { ApiError } from './api.js';
import { connection, fleet, leastInterval, loadAll, loadNews, loadTargets } from './store.js';

// Events are gathered this long before what they name is read.
const GATHER = 120;
// More targets than this are read as one list.
const SINGLY = 8;
const LONGEST_PAUSE = 10_000;
// A browser opens six connections to a host, for all tabs together: a stream in each of them would
// leave none to read anything by. So a page that is out of sight for so long has none.
const OUT_OF_SIGHT = 2_000;

const listeners = new Set();
// Tells of each event, after what is known of its target was read anew.
export function onEvents(listener) { listeners.add(listener); return () => listeners.delete(listener); }

let source = null;
let lastId = null;
let gathered = [];
let gathering = null;
let pollTimer = null;
let retryTimer = null;
let restTimer = null;
let pause = 500;
let running = false;
let wasLost = false;
let rested = false;

export function start() {
  if (running) return;
  running = true;
  connection('connecting');
  if (document.hidden) rested = true;
  else open();
  refresh(loadAll);
  poll();
}

export function stop() {
  running = false;
  close();
  clearTimeout(pollTimer);
  clearTimeout(restTimer);
  clearTimeout(gathering);
}

function close() {
  clearTimeout(retryTimer);
  source?.close();
  source = null;
}

function rest() {
  if (!running || source === null) return;
  close();
  rested = true;
}

function open() {
  close();
  if (rested) connection('connecting');
  source = new EventSource(`/api/v1/events${lastId === null ? '' : `?after=${encodeURIComponent(lastId)}`}`);
  source.onopen = () => {
    pause = 500;
    // What happened while there was no stream may have left it: what is known is read anew. After
    // a rest that is little, for the stream goes on where it was.
    const all = wasLost || (rested && lastId === null);
    refresh(all ? loadAll : () => loadNews()).then((well) => {
      if (!well) return;
      if (wasLost || rested) for (const listener of listeners) listener([]);
      wasLost = false;
      rested = false;
    });
  };
  source.onerror = () => {
    if (!running) return;
    lost('the event stream broke off');
    // The browser comes back by itself after a break, but not after an answer that is an error.
    if (source.readyState === EventSource.CLOSED) {
      retryTimer = setTimeout(open, pause * (0.75 + Math.random() / 2));
      pause = Math.min(pause * 2, LONGEST_PAUSE);
    }
  };
  for (const kind of ['status', 'lifecycle', 'pool', 'target']) source.addEventListener(kind, heard);
  source.addEventListener('reset', () => { lastId = null; refresh(loadAll); });
}

function heard(event) {
  if (event.lastEventId) lastId = event.lastEventId;
  gathered.push(JSON.parse(event.data));
  gathering ??= setTimeout(async () => {
    gathering = null;
    const events = gathered;
    gathered = [];
    const ids = [...new Set(events.map((one) => one.target))];
    const managed = events.some((one) => one.kind !== 'status' || fleet.instances.has(one.target));
    const gone = events.some((one) => one.outcome === 'deleted');
    if (ids.length <= SINGLY) await refresh(() => loadTargets(ids, managed));
    else await refresh(gone ? loadAll : () => loadNews(managed));
    for (const listener of listeners) listener(events);
  }, GATHER);
}

function lost(why) {
  wasLost = true;
  connection('lost', why);
}

// Reads, and says whether that went well.
async function refresh(read) {
  try {
    await read();
    if (source?.readyState === EventSource.OPEN) connection('live');
    return true;
  } catch (error) {
    if (error instanceof ApiError) {
      if (error.status !== 401) {
        // The host is there and can't tell: its store is away.
        fleet.error = error.message;
        connection('trouble', error.message);
      }
    } else {
      lost(error.message);
    }
    return false;
  }
}

// Results are no events. They are asked for about as often as they come.
const pollEvery = () => Math.max(leastInterval(), 5) * 1000;

function poll() {
  clearTimeout(pollTimer);
  pollTimer = setTimeout(async () => {
    if (!document.hidden) await refresh(() => loadNews());
    if (running) poll();
  }, pollEvery());
}

document.addEventListener('visibilitychange', () => {
  clearTimeout(restTimer);
  if (!running) return;
  if (document.hidden) {
    restTimer = setTimeout(rest, OUT_OF_SIGHT);
    return;
  }
  if (source === null) open();
  refresh(() => loadNews()).then(poll);
});
// A page that was left is kept by the browser for the way back.
window.addEventListener('pagehide', rest);
window.addEventListener('pageshow', (event) => { if (event.persisted && running && !document.hidden && source === null) open(); });
// The network came back: no need to wait for the next try.
window.addEventListener('online', () => { if (running && source !== null && source.readyState !== EventSource.OPEN) open(); });
