// Times and spans for people, by the host's clock.
import { useEffect, useState } from './lib.js';

// What the host's clock is ahead of this one, in milliseconds.
let ahead = 0;
export function hostClock(milliseconds) { ahead = Math.abs(milliseconds) < 2000 ? 0 : milliseconds; }
export const now = () => Date.now() + ahead;

const ticking = new Set();
setInterval(() => { if (!document.hidden) for (const tick of ticking) tick(); }, 1000);

// The time, anew each second.
export function useNow() {
  const [at, set] = useState(now);
  useEffect(() => {
    const tick = () => set(now());
    ticking.add(tick);
    tick();
    return () => ticking.delete(tick);
  }, []);
  return at;
}

export function span(seconds) {
  if (seconds < 1) return '0 s';
  if (seconds < 100) return `${Math.floor(seconds)} s`;
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

// How long a probe took: three digits.
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const ms = seconds * 1000;
  if (ms < 0.95) return `${ms.toFixed(2)} ms`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return seconds < 9.95 ? `${seconds.toFixed(2)} s` : `${seconds.toFixed(seconds < 99.5 ? 1 : 0)} s`;
}

const two = (n) => String(n).padStart(2, '0');
export function clock(at, withSeconds = true) {
  const d = new Date(at);
  return `${two(d.getHours())}:${two(d.getMinutes())}${withSeconds ? `:${two(d.getSeconds())}` : ''}`;
}
export function day(at) {
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}
export function moment(at) {
  const today = new Date(now()).toDateString() === new Date(at).toDateString();
  return today ? clock(at) : `${day(at)} ${clock(at)}`;
}
