// Says by which rule something came about. Pure: rows of the API in, texts out.

const STICKY = new Set(['config', 'host-key']);
const HOST = 'system:health';
const by = (principal) => (principal && principal !== HOST ? ` by ${principal}` : '');

function asked(trigger, principal) {
  if (trigger === 'manual') return ` Probed by hand${by(principal)}.`;
  return trigger === 'saved' ? ' Probed because the target was saved.' : '';
}

// What a transition of a check rests on. `audit` is its row in the audit, where that is known.
export function explainStatus(row, check, audit) {
  const end = asked(row.trigger, audit?.principal);
  if (row.to === 'healthy') return `One pass is enough, from any status.${end}`;
  if (row.to === 'unknown') {
    const limit = check ? check.inconclusive_threshold : null;
    const count = limit === null ? 'inconclusive probes in a row reached their threshold'
      : limit === 1 ? 'one inconclusive probe is enough here' : `${limit} inconclusive probes in a row reached the threshold of ${limit}`;
    return `${upper(count)}: nothing conclusive is known, which is never “unhealthy”.${end}`;
  }
  if (STICKY.has(row.reason)) return `“${row.reason}” is sticky: one failure is enough, as the next probe would find the same.${end}`;
  const failures = row.streak === 1 ? '1 failure' : `${row.streak} failures in a row`;
  const limit = check?.failure_threshold;
  if (limit === undefined) return `${failures} reached the threshold.${end}`;
  if (row.streak === limit) return `${failures} reached the threshold of ${limit}.${end}`;
  if (row.streak > limit) return `${failures}, which is past the threshold of ${limit}.${end}`;
  return `${failures} reached the threshold, which was lower then than ${limit}.${end}`;
}

// What was seen: the reason with its message, or why the probe was inconclusive.
export function seen(row, audit) {
  if (row.to === 'unknown') {
    const text = audit?.outcome ?? '';
    return text.startsWith('inconclusive: ') ? text.slice('inconclusive: '.length) : '';
  }
  if (!row.reason) return '';
  return row.message ? `${row.reason}: ${row.message}` : row.reason;
}

// What a change of the lifecycle state rests on; `most` is `max_restarts`.
export function explainLifecycle(row, most) {
  const who = by(row.principal);
  const restart = row.attempt === null ? 'restart' : `restart ${row.attempt}`;
  const of = most === undefined ? '' : ` of ${most}`;
  const failed = row.failures > 0 ? ` ${row.failures}${of} restarts in a row did not hold.` : '';
  switch (row.to) {
    case 'running':
      if (row.from === 'restarting') return `Live and ready again after ${restart}.`;
      if (row.from === 'updating') return 'The update was promoted, and it is live and ready.';
      if (row.from === 'offline') return 'Liveness is healthy again, before a restart was due.';
      if (row.from === 'quarantined') return 'A probe found it live and ready after its quarantine.';
      return 'Every liveness check is healthy.';
    case 'offline':
      if (row.from === 'restarting') return `${upper(restart)} did not hold.${failed} It waits longer than before.`;
      return `A liveness check is unhealthy: it gets no more work, and its next restart has a time.${failed}`;
    case 'restarting':
      if (row.from === 'quarantined') return `Released${who}, with ${restart}.`;
      if (row.from === 'updating') return `The update ended${who}: it has its start budget to become ready.`;
      return `${upper(restart)} was decided${who || ', as it was due'}.${failed}`;
    case 'quarantined':
      return who ? `Set aside${who}: no more restarts until it is released.`
        : `Given up after ${row.failures}${of} restarts in a row that did not hold. A release ends that.`;
    case 'updating':
      return `The update manager took it${who}: nothing restarts it meanwhile.`;
    default:
      return 'Nothing conclusive is known, so nothing is restarted.';
  }
}

// What an audit row says that is no transition.
export function explainAct(row) {
  switch (row.action) {
    case 'probe': return `Probed by hand${by(row.principal)}; the status stays ${row.to}.`;
    case 'target-changed': return `The target was ${row.outcome}${by(row.principal)}.`;
    case 'capability-denied': return 'A call was refused: it is not granted.';
    default: return upper(by(row.principal).trim());
  }
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
