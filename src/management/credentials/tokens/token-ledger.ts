// Records for each key whether its tokens may still be alive, and the lowest generation of tokens that is valid. In: issued
// tokens, changed keys, changed configuration, and the time. Out: a higher generation as soon as the rights of a key differ from
// the claims of its tokens. The record is stored before a token is answered, so that a change during a stop of the server kills
// tokens as well.
import { isRecord } from '../../../object/text/json.ts';
import type { Store } from '../../../store/store.ts';
import { type KeyWorld, makersOf } from '../../keys/life/credential.ts';
import { isExpired } from '../../keys/life/expiry.ts';
import type { KeyFacts } from '../../keys/life/key-facts.ts';
import type { PublishedRevocations } from './published-revocations.ts';
import { isSameView, type KnownView, type RightsView, viewOfKey } from './token-rights.ts';

export const ledgerPrefix = 'tokens/';
const prefix = ledgerPrefix;
/** A generation must not be used again while an endpoint remembers it. The endpoint's clock may be wrong by this much. */
const keptAfterMs = 60 * 60 * 1000;

interface Line extends KnownView {
  name: string;
  generation: number;
  /** Generations below were in use; undefined = the first is still the present one, and nothing is revoked. */
  hasRevoked: boolean;
  /** When the last token of any generation ends. */
  expiresMs: number;
}

export interface LedgerOptions {
  store: Pick<Store, 'sideValues' | 'writeSideValues'>;
  /** What verifiers read. */
  revocations: PublishedRevocations;
  world: KeyWorld;
  nowMs: () => number;
  failed: (error: unknown) => void;
}

export class TokenLedger {
  readonly #parts: LedgerOptions;
  readonly #lines = new Map<string, Line>();
  readonly #unwritten = new Set<string>();
  /** The write that will have the unwritten lines. */
  #writing: Promise<void> | undefined;

  constructor(parts: LedgerOptions) {
    this.#parts = parts;
  }

  /** Keys may have changed while the server was stopped. `isAnew`: the signing keys are new, so no earlier token is valid. */
  async start(isAnew: boolean, { isShared = false } = {}): Promise<void> {
    for (const [key, text] of await this.#parts.store.sideValues(prefix)) {
      const line = lineIn(text);
      if (line !== undefined) this.#lines.set(key.slice(prefix.length), line);
    }
    for (const uid of isAnew ? [...this.#lines.keys()] : [])
      this.#raise(uid, { view: 'issued before the present keys', places: '' });
    this.reviewAll();
    const revoked = [...this.#lines].filter(([, { hasRevoked }]) => hasRevoked);
    await this.#parts.revocations.start(
      revoked.map(([key, { generation, expiresMs }]) => ({ key, generation, expiresMs })),
      { isShared },
    );
  }

  /** The name of a key whose tokens may be alive. */
  nameOf(uid: string, nowMs: number): string | undefined {
    const line = this.#lines.get(uid);
    return line === undefined || line.expiresMs + keptAfterMs <= nowMs ? undefined : line.name;
  }

  isRevoked({ keyUid, generation }: { keyUid: string; generation: number }): boolean {
    const line = this.#lines.get(keyUid);
    // Every token is recorded before it is answered, so a token of an unknown key comes from a lost or an older store.
    return line === undefined || generation !== line.generation;
  }

  /** Before a token is answered. Its generation counts until the key changes. */
  async issue({ name, record }: KeyFacts, expiresMs: number): Promise<number> {
    const { uid } = record;
    this.review(uid);
    const known = this.#lines.get(uid);
    const first = (): Line => ({
      ...{ name, generation: this.#generationAfter(0), hasRevoked: false, expiresMs },
      ...this.#viewOf(uid, name),
    });
    const line = known ?? first();
    const { generation } = line;
    const kept = { ...line, expiresMs: Math.max(line.expiresMs, expiresMs) };
    this.#lines.set(uid, kept);
    await this.#write(uid);
    // Another replica may have issued for the same key at the same time.
    return this.#lines.get(uid)?.generation ?? generation;
  }

  /** A line that another replica has written, or this one together with another. */
  heard(uid: string, text: string): void {
    const line = lineIn(text);
    const known = this.#lines.get(uid);
    if (line === undefined) return;
    if (known !== undefined && !isSameView(known, line) && known.generation > line.generation) return;
    this.#lines.set(uid, line);
    // The key may have changed here before the line came.
    this.review(uid);
  }

  /** Nothing is known of tokens of this key; another replica may have issued one just now. */
  isUnknown(uid: string): boolean {
    return !this.#lines.has(uid);
  }

  /** The tokens of keys that this key has made depend on it as well. */
  changed(uid: string): void {
    this.review(uid);
    for (const other of this.#lines.keys()) if (other !== uid && this.#isMadeBy(other, uid)) this.review(other);
  }

  reviewAll(): void {
    for (const uid of this.#lines.keys()) this.review(uid);
  }

  /** Expiry causes no event, so this looks for expired keys several times a second. */
  passTime(): void {
    this.#parts.revocations.tryAgain();
    const nowMs = this.#parts.nowMs();
    const forgotten = new Map<string, undefined>();
    for (const [uid, { expiresMs, view }] of this.#lines) {
      if (expiresMs + keptAfterMs <= nowMs) {
        this.#lines.delete(uid);
        this.#parts.revocations.remove(uid);
        forgotten.set(prefix + uid, undefined);
      } else if (!view.startsWith('dead')) this.#reviewEnd(uid);
    }
    if (forgotten.size > 0) this.#parts.store.writeSideValues(forgotten).catch(this.#parts.failed);
  }

  review(uid: string): void {
    const line = this.#lines.get(uid);
    if (line === undefined) return;
    const now = this.#viewOf(uid, line.name);
    if (isSameView(now, line)) this.#lines.set(uid, { ...line, ...now });
    else this.#raise(uid, now);
  }

  #raise(uid: string, view: RightsView): void {
    const line = this.#lines.get(uid) as Line;
    const generation = this.#generationAfter(line.generation);
    this.#lines.set(uid, { ...line, ...view, generation, hasRevoked: true });
    this.#parts.revocations.put({ key: uid, generation, expiresMs: line.expiresMs });
    // If the write fails, the next start finds the same change again, because the stored record is older.
    this.#write(uid).catch(() => undefined);
  }

  /** Taken from the clock, so that a restored store never uses again a generation that endpoints know as dead. */
  #generationAfter(generation: number): number {
    return Math.max(generation + 1, Math.floor(this.#parts.nowMs() / 1000));
  }

  #reviewEnd(uid: string): void {
    const { world, nowMs } = this.#parts;
    const facts = world.key(this.#lines.get(uid)?.name ?? '');
    const keys = facts === undefined ? [] : [facts, ...(makersOf(facts, world) ?? [])];
    if (keys.some((key) => isExpired(key.times, world.lastActivityMs(key), nowMs()))) this.review(uid);
  }

  #viewOf(uid: string, name: string): RightsView {
    const { world, nowMs } = this.#parts;
    const facts = world.key(name);
    if (facts === undefined || facts.record.uid !== uid) return { view: 'dead: gone', places: '' };
    return viewOfKey(facts, world, nowMs());
  }

  #isMadeBy(uid: string, maker: string): boolean {
    const { world } = this.#parts;
    const facts = world.key(this.#lines.get(uid)?.name ?? '');
    if (facts?.record.madeBy === undefined) return false;
    // A gap in the chain means that a maker is deleted, perhaps the one in question.
    return makersOf(facts, world)?.some(({ record }) => record.uid === maker) ?? true;
  }

  /** All changes of one turn share a write: a new configuration can change the rights of thousands of keys. */
  #write(uid: string): Promise<void> {
    this.#unwritten.add(uid);
    if (this.#writing === undefined) {
      this.#writing = Promise.resolve().then(() => this.#writeAll());
      this.#writing.catch(this.#parts.failed);
    }
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const changes = new Map<string, string>();
    for (const uid of this.#unwritten) {
      const line = this.#lines.get(uid);
      if (line !== undefined) changes.set(prefix + uid, JSON.stringify(line));
    }
    this.#unwritten.clear();
    this.#writing = undefined;
    if (changes.size > 0) await this.#parts.store.writeSideValues(changes);
  }
}

function lineIn(text: string): Line | undefined {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? (value as unknown as Line) : undefined;
}
