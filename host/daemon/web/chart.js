// A chart of latency over time, as SVG: dots of single runs, or lines of percentiles with a strip
// that tells when the check was up.
import { html, useLayoutEffect, useRef, useState } from './lib.js';
import { clock, day, duration } from './time.js';

const HIGH = 190;
const LEFT = 56;
const RIGHT = 8;
const TOP = 10;
const STRIP = 8;

// A round step that makes about four lines.
function steps(most) {
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, n) => n * step);
}

export function Chart({ points, from, until, words, label, legend, dots = false, step = 0 }) {
  const box = useRef(null);
  const [wide, setWide] = useState(720);
  const [over, setOver] = useState(null);
  useLayoutEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWide(Math.max(240, Math.round(entry.contentRect.width))));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const measured = points.map((point) => (dots ? (point.failed ? 0 : point.seconds) : point.p99_seconds ?? 0));
  const lines = steps(Math.max(...measured, 0.001));
  const top = lines.at(-1);
  const bottom = HIGH - 22 - (dots ? 0 : STRIP + 6);
  const x = (at) => LEFT + ((at - from) / Math.max(1, until - from)) * (wide - LEFT - RIGHT);
  const y = (seconds) => bottom - (seconds / top) * (bottom - TOP);
  const move = (event) => {
    const place = event.clientX - box.current.getBoundingClientRect().left;
    let best = null;
    for (const point of points) if (best === null || Math.abs(x(point.at) - place) < Math.abs(x(best.at) - place)) best = point;
    setOver(best);
  };
  const many = until - from > 36 * 3600_000;
  const times = Array.from({ length: wide > 560 ? 6 : 3 }, (_, n, of = wide > 560 ? 6 : 3) => from + ((until - from) * (n + 0.5)) / of);
  return html`<figure class="chart" ref=${box}>
    <svg viewBox=${`0 0 ${wide} ${HIGH}`} role="img" aria-label=${label} onPointerMove=${move} onPointerLeave=${() => setOver(null)}>
      ${lines.map((line) => html`<line key=${line} class="grid" x1=${LEFT} x2=${wide - RIGHT} y1=${y(line)} y2=${y(line)} /><text key=${`t${line}`} x=${LEFT - 8} y=${y(line) + 4} text-anchor="end">${line === 0 ? '0' : duration(line)}</text>`)}
      ${times.map((at) => html`<text key=${at} x=${x(at)} y=${HIGH - 5} text-anchor="middle">${many ? day(at) : clock(at, false)}</text>`)}
      ${dots ? html`<${Dots} points=${points} x=${x} y=${y} top=${TOP} />` : html`<${Lines} points=${points} x=${x} y=${y} step=${step} strip=${bottom + 6} />`}
      ${over && html`<line class="cursor" x1=${x(over.at)} x2=${x(over.at)} y1=${TOP} y2=${bottom} />`}
    </svg>
    ${over && html`<div class="tip" style=${{ left: x(over.at) < wide / 2 ? `${x(over.at) + 12}px` : 'auto', right: x(over.at) < wide / 2 ? 'auto' : `${wide - x(over.at) + 12}px` }}>${words(over).map((line, place) => html`<div key=${place}>${line}</div>`)}</div>`}
    <figcaption class="legend">${legend.map(([kind, text]) => html`<span key=${kind}><${Key} kind=${kind} />${text}</span>`)}</figcaption></figure>`;
}

function Key({ kind }) {
  return html`<svg viewBox="0 0 22 8" aria-hidden="true">${kind === 'dot' ? html`<circle class="dot" cx="11" cy="4" r="2.5" />`
    : kind === 'cross' ? html`<path class="cross" d="M8 1l6 6M14 1l-6 6" />`
    : kind.startsWith('p') ? html`<path class=${kind} d="M0 4h22" />` : html`<rect class=${kind} width="22" height="8" />`}</svg>`;
}

function Dots({ points, x, y, top }) {
  return points.map((point) => (point.failed
    ? html`<path key=${point.at} class="cross" d=${`M${x(point.at) - 3} ${top}l6 6m0 -6l-6 6`} />`
    : html`<circle key=${point.at} class="dot" cx=${x(point.at)} cy=${y(point.seconds)} r="2.4" />`));
}

function Lines({ points, x, y, step, strip }) {
  const line = (key) => {
    let path = '';
    let before = null;
    for (const point of points) {
      const value = point[key];
      if (value === null || value === undefined) continue;
      // A gap stays one: nothing is drawn over hours without a run.
      path += `${before !== null && point.at - before <= step * 1.5 ? 'L' : 'M'}${x(point.at).toFixed(1)} ${y(value).toFixed(1)}`;
      if (before === null || point.at - before > step * 1.5) path += 'h0.01';
      before = point.at;
    }
    return html`<path key=${key} class=${key.slice(0, 3)} d=${path} />`;
  };
  return html`${['p99_seconds', 'p95_seconds', 'p50_seconds'].map(line)}
    ${points.map((point) => {
      const left = x(point.start);
      const wide = Math.max(0.5, x(point.start + step) - left - 0.5);
      const all = point.healthy_seconds + point.unhealthy_seconds + point.unknown_seconds;
      const down = all > 0 ? (point.unhealthy_seconds / all) * STRIP : 0;
      const gap = all > 0 ? (point.unknown_seconds / all) * STRIP : 0;
      const kind = all === 0 ? 'nothing' : 'up';
      return html`<g key=${point.start}><rect class=${kind} x=${left} y=${strip} width=${wide} height=${STRIP} />
        ${gap > 0 && html`<rect class="gap" x=${left} y=${strip} width=${wide} height=${gap} />`}
        ${down > 0 && html`<rect class="down" x=${left} y=${strip + STRIP - Math.max(down, 1.5)} width=${wide} height=${Math.max(down, 1.5)} />`}</g>`;
    })}`;
}
