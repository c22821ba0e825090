// The last runs of a check as bars: how high says how long it took, and a failure is a full bar
// with a gap, so that it is told without its colour.
import { html } from './lib.js';
import { duration } from './time.js';

const PLACES = 30;
const STEP = 4.5;
const WIDE = 3.2;
const HIGH = 24;

export function Bars({ recent }) {
  const runs = recent ?? [];
  const most = runs.reduce((max, run) => (run.failed ? max : Math.max(max, run.took_seconds)), 0);
  let ok = '';
  let no = '';
  let none = '';
  const first = PLACES - runs.length;
  for (let place = 0; place < PLACES; place += 1) {
    const x = (place * STEP).toFixed(1);
    const run = runs[place - first];
    if (run === undefined) {
      none += `M${x} ${HIGH - 2}h${WIDE}v2h-${WIDE}z`;
    } else if (run.failed) {
      no += `M${x} 0h${WIDE}v${HIGH - 8}h-${WIDE}zM${x} ${HIGH - 5}h${WIDE}v5h-${WIDE}z`;
    } else {
      // By its square root: one slow run must not press the others flat.
      const high = 5 + (HIGH - 7) * (most > 0 ? Math.sqrt(run.took_seconds / most) : 0);
      ok += `M${x} ${(HIGH - high).toFixed(1)}h${WIDE}v${high.toFixed(1)}h-${WIDE}z`;
    }
  }
  return html`<svg class="bars" viewBox="0 0 134 24" preserveAspectRatio="none" role="img" aria-label=${describe(runs)}>
    <path class="none" d=${none} /><path class="ok" d=${ok} /><path class="no" d=${no} /></svg>`;
}

function describe(runs) {
  if (runs.length === 0) return 'no runs yet';
  const failed = runs.filter((run) => run.failed).length;
  const last = runs.at(-1);
  return `last ${runs.length} runs, ${failed} failed; the last ${last.failed ? 'failed' : 'passed'} after ${duration(last.took_seconds)}`;
}
