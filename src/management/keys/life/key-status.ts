// What `status` of a key says: the state that also stands in tables, its end, and both as conditions, so that `kubectl describe` and
// `kubectl wait` see them. Pure.
import { type KeyState, titleOf } from './key-state.ts';

export interface StatusFacts {
  state: KeyState;
  /** Undefined = the key does not end. */
  expiryMs: number | undefined;
  lastActivityMs: number | undefined;
}

export function keyStatus({ state, expiryMs, lastActivityMs }: StatusFacts): object {
  const reason = titleOf(state);
  const ready = { type: 'Ready', status: state === 'active' ? 'True' : 'False', reason };
  const expired = { type: 'Expired', status: state === 'expired' ? 'True' : 'False', reason };
  return {
    phase: reason,
    ...(expiryMs === undefined || expiryMs > latestMs ? {} : { expiresAt: timeText(expiryMs) }),
    ...(lastActivityMs === undefined ? {} : { lastActivity: timeText(lastActivityMs) }),
    // A key without an end never expires, and says nothing about it.
    conditions: expiryMs === undefined ? [ready] : [ready, expired],
  };
}

/** The year 9999: RFC 3339 knows no later one. */
const latestMs = 253_402_300_799_000;

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
