// Knows the revoked tokens that have not expired yet: for each access key the lowest generation that is still valid. In: entries,
// in any order and repeated at will. Out: an answer for one token. An entry never goes back to a lower generation.
import { isRecord } from '../../../object/text/json.ts';
import { longestTokenTTL } from './claims.ts';

export interface RevocationEntry {
  /** Uid of the access key. */
  key: string;
  /** Tokens of a lower generation are dead. */
  generation: number;
  /** When the last of these tokens has ended anyway, so that the entry may be forgotten. */
  expiresMs: number;
}

/** An entry stays longer than its tokens are accepted, because clocks differ. */
const keptMs = 120_000;

export class Revocations {
  readonly #entries = new Map<string, RevocationEntry>();

  get size(): number {
    return this.#entries.size;
  }

  take(entry: RevocationEntry): void {
    const known = this.#entries.get(entry.key);
    this.#entries.set(entry.key, {
      key: entry.key,
      generation: Math.max(entry.generation, known?.generation ?? 0),
      expiresMs: Math.max(entry.expiresMs, known?.expiresMs ?? 0),
    });
  }

  isRevoked({ keyUid, generation }: { keyUid: string; generation: number }): boolean {
    const entry = this.#entries.get(keyUid);
    return entry !== undefined && generation < entry.generation;
  }

  forgetOld(nowMs: number): void {
    for (const [key, { expiresMs }] of this.#entries) if (expiresMs + keptMs <= nowMs) this.#entries.delete(key);
  }
}

/** Undefined when the value is not a Revocation. An entry with an unreadable time is kept for as long as any token may live. */
export function readEntry(value: unknown, nowMs: number): RevocationEntry | undefined {
  if (!isRecord(value) || !isRecord(value['metadata']) || !isRecord(value['spec'])) return undefined;
  const { name: key } = value['metadata'];
  const { generation, expires } = value['spec'];
  if (typeof key !== 'string' || typeof generation !== 'number' || !Number.isSafeInteger(generation)) return undefined;
  const parsed = typeof expires === 'string' ? Date.parse(expires) : Number.NaN;
  return { key, generation, expiresMs: Number.isNaN(parsed) ? nowMs + longestTokenTTL * 1000 : parsed };
}

export function entrySpec({ generation, expiresMs }: RevocationEntry): Record<string, unknown> {
  return { generation, expires: new Date(expiresMs).toISOString() };
}
