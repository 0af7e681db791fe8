// The lines of the token ledger where several replicas issue tokens: records that all of them follow, instead of values that one
// keeps. In: a store. Out: what the ledger reads and writes. Two replicas that issue for one key at a time agree on one generation.
import { isRecord } from '../../../object/text/json.ts';
import type { Follower, Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';
import { isSameView, type KnownView } from './token-rights.ts';

export const sharedLinesPrefix = '/management/tokens/';
const mostAttempts = 10;

/** With the rights in tokens of this generation. */
export interface SharedLine extends KnownView {
  generation: number;
  expiresMs: number;
}

export class SharedLines {
  readonly #store: Store;
  readonly #prefix: string;
  #heard: (uid: string, text: string) => void = () => undefined;
  readonly #followed: Follower;

  /** `prefix`: of the ledger's own keys. */
  constructor({ store, followers }: { store: Store; followers: Followers }, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
    this.#followed = followers.of({
      prefix: sharedLinesPrefix,
      what: 'tokens',
      found: ({ key, value }) => this.#heard(key.slice(sharedLinesPrefix.length), value),
      changed: ({ type, key, value }) => {
        if (type === 'put') this.#heard(key.slice(sharedLinesPrefix.length), value);
      },
    });
  }

  /** `heard` is called with every line that this replica or another one has written. */
  async start(heard: (uid: string, text: string) => void): Promise<void> {
    this.#heard = heard;
    await this.#followed.start();
  }

  async stop(): Promise<void> {
    await this.#followed.stop();
  }

  async sideValues(): Promise<Map<string, string>> {
    await this.#store.currentRevision({ fresh: true });
    const page = await this.#store.list(sharedLinesPrefix);
    const records = page.kind === 'page' ? page.records : [];
    return new Map(records.map(({ key, value }) => [this.#prefix + key.slice(sharedLinesPrefix.length), value]));
  }

  async writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    await Promise.all([...changes].map(([key, text]) => this.#write(key.slice(this.#prefix.length), text)));
  }

  async #write(uid: string, text: string | undefined): Promise<void> {
    const key = sharedLinesPrefix + uid;
    let known = (await this.#store.get(key)).record;
    for (let attempt = 1; attempt <= mostAttempts; attempt++) {
      if (text === undefined && known === undefined) return;
      const value = text === undefined ? undefined : JSON.stringify(joined(text, known?.value));
      if (value === known?.value) return void (value !== undefined && this.#heard(uid, value));
      const written = await this.#store.write(key, { expect: known?.revision ?? 0, value });
      if (written.ok) return void (value !== undefined && this.#heard(uid, value));
      known = written.current;
    }
    throw new Error(
      `write the tokens of key ${uid}: other replicas have changed them ${mostAttempts} times in the meantime`,
    );
  }
}

/** Of the same rights the generation that is stored stays, because tokens of it are out; of other rights the newer one counts. */
function joined(text: string, stored: string | undefined): SharedLine {
  const ours = JSON.parse(text) as SharedLine;
  const theirs: unknown = stored === undefined ? undefined : JSON.parse(stored);
  if (!isRecord(theirs)) return ours;
  const known = theirs as unknown as SharedLine;
  const expiresMs = Math.max(ours.expiresMs, known.expiresMs);
  const kept = isSameView(known, ours) || known.generation >= ours.generation ? known : ours;
  // The version before stores no text of the spaces; the tokens that this one has made name some.
  return { ...ours, ...kept, expiresMs };
}
