// Calls of the host's API, and who makes them.

// An answer that is an error, in the API's one shape.
export class ApiError extends Error {
  constructor(status, code, message, fields) {
    super(message);
    Object.assign(this, { status, code, fields: fields || [] });
  }
}

// No answer at all.
export class Unreachable extends Error {}

const LOCAL = { principal: 'local', role: 'admin', csrf_token: null, login_required: false };
const RANK = { viewer: 0, operator: 1, admin: 2 };
let session = null;
const watchers = new Set();

export function currentSession() { return session; }
export function onSession(watcher) { watchers.add(watcher); return () => watchers.delete(watcher); }
export function may(role) { return session !== null && (RANK[session.role] ?? -1) >= RANK[role]; }

function setSession(next) {
  session = next;
  for (const watcher of watchers) watcher(session);
}

export async function call(method, path, body) {
  const headers = { accept: 'application/json' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (method !== 'GET' && session?.csrf_token) headers['x-csrf-token'] = session.csrf_token;
  const signal = AbortSignal.timeout(method === 'GET' ? 30_000 : 120_000);
  let answer;
  let text;
  try {
    const asked = { method, headers, signal, cache: 'no-store', body: body === undefined ? undefined : JSON.stringify(body) };
    answer = await fetch(path, asked);
    text = await answer.text();
  } catch (error) {
    throw new Unreachable(error?.name === 'TimeoutError' ? 'the host did not answer in time' : 'the host can’t be reached');
  }
  let data = null;
  try { data = text === '' ? null : JSON.parse(text); } catch (_) { /* told below */ }
  if (answer.ok) return data;
  const told = data?.error ?? {};
  // A login that ended, unless it is the login itself that was refused.
  if (answer.status === 401 && path !== '/api/v1/session') setSession(null);
  throw new ApiError(answer.status, told.code ?? 'unknown', told.message ?? `the host answered ${answer.status}`, told.fields);
}

export const get = (path) => call('GET', path);
export const post = (path, body) => call('POST', path, body);
export const part = (text) => encodeURIComponent(text);

// Who is here. Gives null where a token is asked for.
export async function openSession() {
  try {
    setSession(await get('/api/v1/session'));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) setSession(LOCAL);
    else if (error instanceof ApiError && error.status === 401) setSession(null);
    else throw error;
  }
  return session;
}

export async function logIn(token) { setSession(await post('/api/v1/session', { token })); }
export async function logOut() {
  await call('DELETE', '/api/v1/session');
  setSession(null);
}
