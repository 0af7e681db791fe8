// How soon another replica has the lease after its holder died or was told to stop, judged when nothing else is wrong; and always, that nobody takes it
// from a holder whose time has not passed.
import type { LiveFault } from '../faults/live-fault.ts';
import type { World, WorldEars } from '../play/world.ts';
import type { Passing } from '../proxy/passing.ts';
import type { Written } from '../stage/replayed-store.ts';
import { registry } from '../stage/rig-cluster.ts';
import { hostNamespace, leaseMsOf, virtualCluster } from '../traffic/acts.ts';
import type { Board } from './board.ts';

/** A standby looks at the lease twice a second. With the lease of the demo that is 5.5 s after a crash. */
export const lookMs = 500;
const afterStopMs = 500;
/** For this share of the lease its holder writes without a new renewal. */
const reliesOnShare = 10 / 15;
/** These kill or stop the holder, and do nothing else. */
const killers: ReadonlySet<string> = new Set(['F1', 'F2', 'F3', 'F4', 'F48']);

interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
}

interface Vacancy {
  by: string;
  sinceMs: number;
  withinMs: number;
}

export class FailOver implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  readonly #faults: readonly LiveFault[];
  #vacant: Vacancy | undefined;
  readonly #ended = new Set<string>();
  /** Daemons that have read the lease. */
  readonly #hasSeen = new Set<string>();
  /** By daemon: when it has read the lease, and done nothing to it since. */
  readonly #lookedMs = new Map<string, number>();

  constructor(world: World, board: Board, faults: readonly LiveFault[]) {
    this.#world = world;
    this.#board = board;
    this.#faults = faults;
  }

  get #isJudged(): boolean {
    return (
      this.#world.scenario.daemons > 1 &&
      this.#faults.every(({ hasStruck, recipe }) => !hasStruck || killers.has(recipe.class))
    );
  }

  /** A standby that looks seldom finds a released lease late, also where nobody releases one now. */
  passed({ verb, daemon, method }: Passing): void {
    if (verb !== 'lease') return;
    const nowMs = this.#world.clock.now();
    const lookedMs = this.#lookedMs.get(daemon);
    this.#lookedMs.delete(daemon);
    if (method !== 'GET') return;
    if (lookedMs !== undefined && this.#isJudged && nowMs - lookedMs > lookMs)
      this.#board.say(
        'bound',
        'looks seldom',
        `${daemon} has not led, and looked at the lease again after ${Math.round(nowMs - lookedMs)} ms`,
      );
  }

  given({ verb, daemon, method }: Passing, status: number): void {
    if (verb !== 'lease' || method !== 'GET' || status !== 200) return;
    this.#hasSeen.add(daemon);
    this.#lookedMs.set(daemon, this.#world.clock.now());
  }

  answered({ verb, daemon }: Passing, status: number): void {
    if (verb !== 'lease' || status >= 300) return;
    const { store } = this.#world.clusters.host;
    const key = `${registry.leases}/${hostNamespace}/hostward-${virtualCluster}`;
    const last = store.written.findLast((one) => one.key === key);
    const [before, after] = [last?.before, last?.after].map((lease) => lease?.['spec'] as LeaseSpec | undefined);
    if (last?.by?.daemon !== daemon || after === undefined) return;
    if (before === undefined) return void this.#madeAnew(daemon, last, store.written);
    const { holderIdentity: holder = '', leaseDurationSeconds = 0 } = before;
    if (holder === '' || [holder, ''].includes(after.holderIdentity ?? '')) return;
    if (this.#hasTurnedBack) return;
    const stood = store.written.findLast((one) => one.key === key && one !== last);
    const tookMs = last.atMs - (stood?.atMs ?? Number.NEGATIVE_INFINITY);
    if (tookMs < leaseDurationSeconds * 1000)
      this.#board.say('S6', 'taken early', `${daemon} took the lease of ${holder} ${tookMs} ms after its last renewal`);
  }

  /** Of a host that was set back nobody knows which lease stood, and a lease that came back was renewed long ago. */
  get #hasTurnedBack(): boolean {
    return this.#faults.some(({ hasStruck, recipe, placed }) => {
      return hasStruck && recipe.class === 'F36' && placed.side === 'host';
    });
  }

  /** Whoever held a lease that is gone may not know it yet, and relies on its last renewal. Who has never seen that lease cannot know of him. */
  #madeAnew(daemon: string, made: Written, written: readonly Written[]): void {
    const stood = written.findLast((one) => one.key === made.key && one !== made && one.after !== undefined);
    const { holderIdentity: holder = '', leaseDurationSeconds = 0 } = (stood?.after?.['spec'] ?? {}) as LeaseSpec;
    const tookMs = made.atMs - (stood?.atMs ?? Number.NEGATIVE_INFINITY);
    if (holder === '' || holder.startsWith(`${daemon}_`) || !this.#hasSeen.has(daemon)) return;
    if (this.#hasTurnedBack) return;
    if (tookMs < leaseDurationSeconds * 1000 * reliesOnShare)
      this.#board.say('S6', 'made anew', `${daemon} made the lease anew ${tookMs} ms after ${holder} had renewed it`);
  }

  /** SIGTERM: who ends by himself gives the lease up, also where nobody else waits for it. A second one ends him at once. */
  #releases(): void {
    const isDisturbed = this.#faults.some(({ hasStruck, recipe }) => hasStruck && recipe.effect !== 'terminate');
    for (const { name, state } of this.#world.everyDaemon) {
      if (state !== 'stopped' || this.#ended.has(name)) continue;
      this.#ended.add(name);
      if (!isDisturbed && this.#holder?.split('_')[0] === name)
        this.#board.say('bound', 'lease kept', `${name} has ended by itself and holds the lease`);
    }
  }

  get #holder(): string | undefined {
    const lease = this.#world.clusters.host.store.peek(
      `${registry.leases}/${hostNamespace}/hostward-${virtualCluster}`,
    );
    return lease && ((lease['spec'] as LeaseSpec | undefined)?.holderIdentity ?? '');
  }

  still(): void {
    this.#releases();
    if (!this.#isJudged) return;
    const holder = this.#holder ?? '';
    const daemon = this.#world.daemonOf(holder.split('_')[0] ?? '');
    const nowMs = this.#world.clock.now();
    if (daemon?.state === 'running' || daemon?.state === 'starting') this.#taken(nowMs, daemon.name);
    else if (this.#holder === undefined || this.#world.daemons.every(({ isReady }) => !isReady))
      this.#vacant = undefined;
    else this.#vacant ??= this.#vacancy(nowMs, holder === '');
  }

  #vacancy(sinceMs: number, isReleased: boolean): Vacancy {
    const afterCrashMs = leaseMsOf(this.#world.configuration) + lookMs;
    return { by: isReleased ? 'a release' : 'a crash', sinceMs, withinMs: isReleased ? afterStopMs : afterCrashMs };
  }

  #taken(nowMs: number, name: string): void {
    const { by = '', sinceMs = nowMs, withinMs = 0 } = this.#vacant ?? {};
    this.#vacant = undefined;
    if (nowMs - sinceMs > withinMs && by !== '')
      this.#board.say('bound', `fail-over after ${by}`, `${name} had the lease ${nowMs - sinceMs} ms after ${by}`);
  }
}
