// Where the page is: `#/targets/shop?range=7d`. A link can be kept and sent.
import { useEffect, useState } from './lib.js';

export const part = (text) => encodeURIComponent(text);

function decode(text) {
  try { return decodeURIComponent(text); } catch (_) { return text; }
}

function read() {
  const [path, query = ''] = window.location.hash.replace(/^#/, '').split('?');
  const parts = path.split('/').filter(Boolean).map(decode);
  return { parts, query: Object.fromEntries(new URLSearchParams(query)), path: `/${parts.join('/')}` };
}

export function go(path, query = {}, replace = false) {
  const text = new URLSearchParams(query).toString();
  const hash = `#${path}${text ? `?${text}` : ''}`;
  if (replace) {
    history.replaceState(null, '', hash);
    window.dispatchEvent(new Event('hashchange'));
  } else {
    window.location.hash = hash;
  }
}

// How many views were opened here: with none, back would leave the page.
let opened = 0;
window.addEventListener('popstate', () => { opened += 1; });
export function back() {
  if (opened > 0) history.back();
  else go('/');
}

export function useRoute() {
  const [route, set] = useState(read);
  useEffect(() => {
    const look = () => set(read());
    window.addEventListener('hashchange', look);
    return () => window.removeEventListener('hashchange', look);
  }, []);
  return route;
}
