// A key that is unknown here may have been made on another replica a moment ago. So an unknown one is looked for once more after this
// replica has heard everything, and nothing remembers that it was unknown. Such looks are limited by source and in all; beyond that
// the answer is 503 and never 401, because nobody knows whether the key is good.
import { sourceOf } from '../../../apiserver/limits/source.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import type { Clock } from '../../../clock.ts';
import { serviceUnavailable } from '../../../object/meta/status.ts';
import { TokenBucket, TokenBuckets } from '../../../pace/token-bucket.ts';
import type { Followers } from '../../../store/follow/follower.ts';
import type { Store } from '../../../store/store.ts';

/** A pipeline that starts a dozen jobs with a new key passes; somebody who tries keys does not make the host busy. */
const ofOneSource = { burst: 20, perSecond: 2 };
/** All sources together; looks at one time share one question to the host. */
const ofAll = { burst: 200, perSecond: 50 };

export interface MissesOptions {
  store: Pick<Store, 'currentRevision'>;
  /** Of those who are asked again after the look. */
  followers: Pick<Followers, 'have'>;
  clock: Clock;
}

export class Misses {
  readonly #parts: MissesOptions;
  readonly #sources = new TokenBuckets(ofOneSource);
  #all: TokenBucket | undefined;

  constructor(parts: MissesOptions) {
    this.#parts = parts;
  }

  /**
   * Resolves when everything that was written before the call is known here; at once when there is no room for a look and `isFormer`: the value
   * has ended here, and only a record that somebody has mended by hand could give it back.
   */
  async look(source: string, isFormer: () => boolean = () => false): Promise<void> {
    const { store, followers, clock } = this.#parts;
    const nowMs = clock.now();
    this.#all ??= new TokenBucket(ofAll, nowMs);
    const waitMs = this.#sources.of(sourceOf(source), nowMs).take(nowMs) || this.#all.take(nowMs);
    if (waitMs > 0 && isFormer()) return;
    if (waitMs > 0) throw unknownYet(Math.ceil(waitMs / 1000));
    const revision = await store.currentRevision({ fresh: true }).catch(() => undefined);
    // Who follows the store has the change one turn later, but for one that has lost its watch just now.
    await new Promise((resolve) => setImmediate(resolve));
    if (revision === undefined || !followers.have(revision)) throw unknownYet(1);
  }
}

function unknownYet(seconds: number): StatusFault {
  return new StatusFault(
    serviceUnavailable('the key is not known here, and the store cannot be asked for it now', seconds),
  );
}
