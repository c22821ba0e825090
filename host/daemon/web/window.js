// Which part of a long list is in sight. All its items are equally high.
import { useEffect, useLayoutEffect, useState } from './lib.js';

const MARGIN = 8;
const rowHigh = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 42;

export function useWindow(list, count) {
  const [sight, set] = useState({ first: 0, last: Math.min(count, 40), high: rowHigh() });
  const look = () => {
    const high = rowHigh();
    const top = list.current ? list.current.getBoundingClientRect().top : 0;
    const first = Math.max(0, Math.floor(-top / high) - MARGIN);
    const last = Math.min(count, Math.ceil((window.innerHeight - top) / high) + MARGIN);
    set((was) => (was.first === first && was.last === last && was.high === high ? was : { first, last, high }));
  };
  useLayoutEffect(look, [count]);
  useEffect(() => {
    let asked = 0;
    const soon = () => { if (asked === 0) asked = requestAnimationFrame(() => { asked = 0; look(); }); };
    window.addEventListener('scroll', soon, { passive: true });
    window.addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(asked);
      window.removeEventListener('scroll', soon);
      window.removeEventListener('resize', soon);
    };
  }, [count]);
  // Brings an item into sight.
  const show = (index) => {
    const top = list.current.getBoundingClientRect().top + index * sight.high;
    const above = document.querySelector('.top')?.getBoundingClientRect().bottom ?? 0;
    if (top < above + 8) window.scrollBy(0, top - above - 8);
    else if (top + sight.high > window.innerHeight - 8) window.scrollBy(0, top + sight.high - window.innerHeight + 8);
    look();
  };
  return { ...sight, first: Math.min(sight.first, count), last: Math.min(sight.last, count), show };
}
