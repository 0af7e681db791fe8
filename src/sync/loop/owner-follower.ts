// Looks at objects again when the owner of the host copies comes, goes or is made again. In: the owner according to the world. Out:
// keys for the queue.
import type { Log } from '../../log.ts';
import type { Key } from '../../object/meta/object.ts';
import type { QueuePart } from '../../queue/queue-part.ts';
import type { Facts, Outcome } from '../plan/step.ts';
import type { LedgerPage } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import type { References } from './content/references.ts';

export interface OwnerFollowerOptions {
  world: World;
  ledger: LedgerPage;
  queue: QueuePart;
  references: Pick<References, 'enqueueAll'> | undefined;
  log: Log;
  enqueue: (key: Key) => void;
}

/** Owner references repaired per second after the owner has come back with another uid. */
const ownerRepairsPerSecond = 20;

export class OwnerFollower {
  readonly #options: OwnerFollowerOptions;
  #isStarted = false;
  #uid: string | undefined;
  /** The keys whose last pass saw no owner: they wait for one, or have a copy that may have been written without one. */
  readonly #passedWithout = new Set<Key>();

  constructor(options: OwnerFollowerOptions) {
    this.#options = options;
  }

  /** Called when the first lists are in. Changes before count for nothing, because every key is enqueued after them. */
  start(): void {
    this.#isStarted = true;
    this.#uid = this.#currentUid();
    if (this.#uid === undefined) this.#logOwner();
  }

  stop(): void {
    this.#isStarted = false;
    this.#passedWithout.clear();
  }

  /** Called after each pass. The owner may have come during the pass. */
  passed(key: Key, { outcome, facts }: { outcome: Outcome; facts: Facts }): void {
    const isWithout = facts.owner.kind === 'missing' && (facts.host !== undefined || waitsForOwner(outcome));
    if (!isWithout) this.#passedWithout.delete(key);
    else if (this.#options.world.ownerState().kind === 'present') this.#options.enqueue(key);
    else this.#passedWithout.add(key);
  }

  /** Waiting objects are enqueued at once. The others need only a new uid, one write each, so they follow slowly. */
  changed(): void {
    const { world, ledger, queue, references, enqueue } = this.#options;
    const uid = this.#currentUid();
    if (uid === this.#uid || !this.#isStarted) return;
    this.#uid = uid;
    this.#logOwner();
    references?.enqueueAll();
    let others = 0;
    for (const key of world.windows.virtual.keys()) {
      if (ledger.entry(key)?.outcome.kind === 'waiting') enqueue(key);
      else if (uid !== undefined) queue.addAfter(key, (others++ / ownerRepairsPerSecond) * 1000);
    }
    if (uid !== undefined) this.#passedWithout.clear();
  }

  /** Called when the host has answered whether the owner exists. */
  settled(): void {
    if (!this.#isStarted) return;
    const { references, enqueue } = this.#options;
    this.changed();
    const keys = [...this.#passedWithout];
    this.#passedWithout.clear();
    for (const key of keys) enqueue(key);
    references?.enqueueAll();
  }

  #currentUid(): string | undefined {
    const owner = this.#options.world.knownOwner();
    return owner.kind === 'present' ? owner.uid : undefined;
  }

  #logOwner(): void {
    const { world, log } = this.#options;
    const owner = world.knownOwner();
    if (owner.kind === 'missing') {
      log.warn({ component: 'sync', message: owner.message }, 'no host copy is created without an owner');
    } else if (owner.kind === 'present')
      log.info({ component: 'sync', owner: owner.name }, 'found the owner of the host copies');
  }
}

/** An outcome with a retry time is left out: a namespace that is being deleted refuses copies for a while. */
function waitsForOwner(outcome: Outcome): boolean {
  return outcome.kind === 'waiting' && outcome.reason === 'OwnerMissing' && outcome.retryAfterMs === undefined;
}
