// Stores revocations as objects that verifiers list and watch. In: the ledger's revocations, as they come. Out: records in the
// store. A revocation that the store does not take is tried again, and until then no list of them counts as complete; nor does one
// while a write hangs, because a disk that hangs answers neither yes nor no.
import type { Clock } from '../../../clock.ts';
import type { Store } from '../../../store/store.ts';
import type { RevocationEntry } from '../claims/revocations.ts';
import { revocationKey, revocationPrefix, revocationText } from './revocation-kind.ts';

export interface PublishedRevocationsOptions {
  store: Pick<Store, 'list' | 'write'>;
  clock: Clock;
  /** Called once when the store begins to lack revocations. */
  failed(error: unknown): void;
  /** Called again and again while it lacks some: a reader may have begun in between. */
  lost(): void;
}

/** A disk under load takes a tenth of this time, and it is far below the thirty seconds for which endpoints trust a silent platform. */
const patienceMs = 5_000;
/** A new configuration can end the tokens of thousands of keys; they share writes to the disk. */
const writesAtOnce = 500;

export class PublishedRevocations {
  readonly #parts: PublishedRevocationsOptions;
  /** Texts by key of the store; undefined = to be removed. */
  readonly #unwritten = new Map<string, string | undefined>();
  #writing: Promise<void> | undefined;
  /** When the write that goes on began. */
  #sinceMs = 0;
  #isLost = false;

  constructor(parts: PublishedRevocationsOptions) {
    this.#parts = parts;
  }

  /** Resolves when the store has exactly these revocations, or has failed. */
  async start(entries: readonly RevocationEntry[], { isShared = false } = {}): Promise<void> {
    const listed = await this.#parts.store.list(revocationPrefix);
    const stored = new Map(listed.kind === 'page' ? listed.records.map(({ key, value }) => [key, value]) : []);
    const wanted = new Map(entries.map((entry) => [revocationKey(entry.key), entry]));
    // Another replica may have published one since the lines were read; it removes its own when they are over.
    if (!isShared) for (const key of stored.keys()) if (!wanted.has(key)) this.#unwritten.set(key, undefined);
    for (const [key, entry] of wanted) if (!isSame(stored.get(key), entry)) this.put(entry);
    await this.#write();
  }

  /** False while the store lacks a revocation that it was given. */
  get areComplete(): boolean {
    return !this.#isLost;
  }

  put(entry: RevocationEntry): void {
    this.#unwritten.set(revocationKey(entry.key), revocationText(entry, this.#parts.clock.wallTime()));
    void this.#write();
  }

  remove(uid: string): void {
    this.#unwritten.set(revocationKey(uid), undefined);
    void this.#write();
  }

  /** Called every few hundred milliseconds. */
  tryAgain(): void {
    if (this.#unwritten.size === 0) return;
    void this.#write();
    if (this.#parts.clock.now() - this.#sinceMs < patienceMs) return;
    this.#lost(new Error(`the store took no revocation within ${patienceMs / 1000} seconds`));
  }

  #write(): Promise<void> {
    if (this.#writing === undefined) {
      this.#sinceMs = this.#parts.clock.now();
      this.#writing = Promise.resolve().then(() => this.#writeAll());
    }
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { store, clock } = this.#parts;
    try {
      while (this.#unwritten.size > 0) {
        this.#sinceMs = clock.now();
        const some = [...this.#unwritten].slice(0, writesAtOnce);
        await Promise.all(some.map(([key, value]) => store.write(key, { expect: undefined, value })));
        // What changed during the write is written again.
        for (const [key, value] of some) if (this.#unwritten.get(key) === value) this.#unwritten.delete(key);
      }
      this.#isLost = false;
    } catch (error) {
      this.#lost(error);
    } finally {
      this.#writing = undefined;
    }
  }

  #lost(error: unknown): void {
    if (!this.#isLost) this.#parts.failed(error);
    this.#isLost = true;
    this.#parts.lost();
  }
}

function isSame(text: string | undefined, entry: RevocationEntry): boolean {
  if (text === undefined) return false;
  const { spec } = JSON.parse(text) as { spec: { generation: number; expires: string } };
  return spec.generation === entry.generation && Date.parse(spec.expires) >= entry.expiresMs;
}
