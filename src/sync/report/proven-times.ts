// Says when objects were last proven: both API servers had exactly the pair that the last pass called equal. Pure.
import type { Key } from '../../object/meta/object.ts';
import type { Sync } from '../loop/sync.ts';

export interface ProvenTime {
  /** RFC 3339. */
  provenAt?: string;
  provenSecondsAgo?: number;
}

export interface ProvenCount {
  /** How many objects are proven, and the age of the oldest proof among them. */
  proven?: { objects: number; oldestSecondsAgo: number };
}

export function provenCount({ proven, options }: Sync): ProvenCount {
  const { objects, oldestMs } = proven.summary;
  if (oldestMs === undefined) return {};
  return { proven: { objects, oldestSecondsAgo: seconds(options.clock.now() - oldestMs) } };
}

/** Empty for an object that changed since its last proof, or that is not in sync. */
export function provenTime({ proven, options }: Sync, key: Key): ProvenTime {
  const atMs = proven.provenMs(key);
  if (atMs === undefined) return {};
  const agoMs = options.clock.now() - atMs;
  const provenAt = new Date(options.clock.wallTime().getTime() - agoMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return { provenAt, provenSecondsAgo: seconds(agoMs) };
}

/** Rounded to tenths. */
export function seconds(ms: number): number {
  return Math.round(ms / 100) / 10;
}

/** The wall time of the first, RFC 3339. */
export function wallTimeOf(
  { options: { clock } }: Sync,
  ...sinceMs: readonly (number | undefined)[]
): string | undefined {
  const known = sinceMs.filter((one) => one !== undefined);
  if (known.length === 0) return undefined;
  const first = known.reduce((one, other) => Math.min(one, other));
  return new Date(clock.wallTime().getTime() - (clock.now() - first)).toISOString().replace(/\.\d+Z$/, 'Z');
}
