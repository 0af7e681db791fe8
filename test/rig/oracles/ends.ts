// What must be true when everything has been still for a while: it stays as it is, a restart finds nothing to do, `status` says so too, and
// nobody wrote more than the same scenario without faults needs.
import type { LiveFault } from '../faults/live-fault.ts';
import type { Played } from '../play/run.ts';
import type { World, WorldEars } from '../play/world.ts';
import type { Passing } from '../proxy/passing.ts';
import { isSyncWrite, type Written } from '../stage/replayed-store.ts';
import { registry, rigSides } from '../stage/rig-cluster.ts';
import type { DaemonStatus } from '../stage/rig-daemon.ts';
import type { Act } from '../traffic/acts.ts';
import type { Board } from './board.ts';
import type { ModelOracle } from './model-oracle.ts';
import { contentsOf, differenceOf, versionsOf } from './snapshot.ts';

/** After a fault everything is done by then: the second list of a mass delete, repairs of a contested object, a proof. */
const calmWithinMs = 75_000;
/** Without a fault: the second list of a mass delete, and a look at a host Service that two Services claim. No proof has to mend anything. */
const settlesWithinMs = 35_000;
/** So long nobody does anything before it is judged what became of the last act. */
const leastCalmMs = settlesWithinMs + 5_000;
/** Then nothing may change any more. */
const stillForMs = 75_000;
/** Faults that last end within this time. */
const faultsEndWithinMs = 900_000;
const restartSilenceMs = 20_000;
/** What a fault may cost an object in writes beyond the run without it: a retry whose answer was lost, and one more after a restart. */
const redundantWrites = 3;

/** How often faults struck, without those that strike all the time and change nothing. */
function strikesOf(faults: readonly LiveFault[]): number {
  return faults.reduce((sum, { struck, recipe }) => sum + (endless.has(recipe.effect) ? 0 : struck), 0);
}

const endless: ReadonlySet<string> = new Set(['warnings', 'noBookmarks']);

/** A bound counts from the end of its fault. What is over for longer than that has nothing left to mend. */
function calmMsAfter(struck: readonly LiveFault[], nowMs: number): number {
  const endMs = Math.max(
    ...struck.map(({ recipe, firstMs = 0, endMs }) => (endless.has(recipe.effect) ? firstMs : endMs)),
  );
  const boundMs = Math.max(calmWithinMs, ...struck.map(({ recipe }) => recipe.boundMs));
  return Math.max(leastCalmMs, endMs + boundMs - nowMs);
}

/** Waits that end when somebody else acts. */
const mayWait: ReadonlySet<string> = new Set(['waiting/OwnerMissing', 'waiting/Leaderless']);

function daemonsWrites(world: World): Written[] {
  return rigSides.flatMap((side) => world.clusters[side].store.written.filter(isSyncWrite));
}

interface WarningEvent {
  reason?: string;
  involvedObject?: { uid?: string };
}

export interface EndOptions {
  world: World;
  board: Board;
  faults: readonly LiveFault[];
  faultless: Played | undefined;
  model: ModelOracle | undefined;
}

export class EndOracle implements WorldEars {
  readonly #options: EndOptions;
  /** Index in the list of writes of each side. */
  #untilFinish: Record<'virtual' | 'host', number> = { virtual: 0, host: 0 };

  contents: ReadonlyMap<string, string> = new Map();
  /** The longest time from the end of all acts and faults to the last write of a daemon. */
  settledMs = 0;

  /** By daemon: when a watch was opened last. A list before it may have hung for a minute, and proofs begin behind it. */
  readonly #openedMs = new Map<string, number>();

  constructor(options: EndOptions) {
    this.#options = options;
  }

  opened({ daemon }: Passing): void {
    this.#openedMs.set(daemon, this.#options.world.clock.now());
  }

  async calm({ isShort }: Extract<Act, { do: 'calm' }>): Promise<void> {
    const { world, board, faults } = this.#options;
    const stillFromMs = world.clock.now();
    const struck = () => faults.filter(({ hasStruck }) => hasStruck);
    let strikes: number;
    do {
      // A retry in the calm may meet a fault that has not struck yet; then the calm begins anew.
      const areOver = await world.until(
        () => struck().every(({ isOver }) => isOver) && !world.isStarting,
        faultsEndWithinMs,
      );
      if (!areOver)
        return board.say('rig', 'endless fault', 'a fault of the rig does not end, or a daemon does not start');
      strikes = strikesOf(faults);
      await world.advance(calmMsAfter(struck(), world.clock.now()));
    } while (strikesOf(faults) !== strikes || world.isStarting);
    const before = versionsOf(world);
    const quietFromMs = Math.max(stillFromMs, ...struck().map(({ endMs }) => endMs));
    const tookMs = Math.max(0, ...daemonsWrites(world).map(({ atMs }) => atMs - quietFromMs));
    this.settledMs = Math.max(this.settledMs, tookMs);
    const limitMs = settlesWithinMs + struck().reduce((sum, { recipe }) => sum + recipe.boundMs, 0);
    if (tookMs > limitMs)
      board.say('bound', 'late', `the last write came ${tookMs} ms after the last act and fault, wanted ${limitMs}`);
    this.#status();
    this.#options.model?.check();
    if (isShort === true || (isShort === 'withFaults' && faults.length > 0)) return;
    await world.advance(stillForMs);
    if (strikesOf(faults) !== strikes) return;
    this.#status();
    const changed = differenceOf(before, versionsOf(world));
    if (changed.length > 0) {
      const classes = struck().map(({ recipe }) => `${recipe.class} ${recipe.name}`);
      const after = classes.length === 0 ? 'without a fault' : `after ${classes.join(', ')}`;
      board.say(
        'liveness',
        'not yet',
        `${(world.clock.now() - quietFromMs - stillForMs) / 1000} s ${after}, these still change: ${changed.slice(0, 5).join('; ')}`,
      );
    }
  }

  /** Our own words about ourselves, at a moment when the truth is known. */
  #status(): void {
    const { world, board, faults } = this.#options;
    for (const daemon of world.daemons) {
      if (daemon.state !== 'running') {
        board.say(
          'status',
          'not running',
          `${daemon.name} is ${daemon.state}: ${daemon.failure ?? 'it does not say why'}`,
        );
        continue;
      }
      const { verdict, outages = [], leadership, windows = [], uptimeSeconds, ...status } = daemon.status;
      const trouble = [...(status.trouble ?? []), ...(status.endpointSlices?.trouble ?? [])];
      const waits = trouble.filter(({ state }) => /^(retry|waiting)/.test(state) && !mayWait.has(state));
      if (leadership !== 'standby' && waits.length > 0)
        board.say('status', 'waits', `${daemon.name} says when all is calm: ${JSON.stringify(waits.slice(0, 3))}`);
      for (const { inSync = 0, virtual = 0 } of [status.objects ?? {}, status.endpointSlices?.objects ?? {}])
        if (inSync > virtual)
          board.say(
            'status',
            'too many in sync',
            `${daemon.name} says so of ${inSync} objects, and there are ${virtual}`,
          );
      if (leadership !== 'standby' && faults.length === 0) this.#told(status);
      if (['behind', 'unreachable', 'unwritable', 'starting'].includes(verdict.state))
        board.say('status', verdict.state, `${daemon.name} says when all is calm: ${verdict.sentence}`);
      const unproven = windows.filter(({ provenSecondsAgo }) => !(provenSecondsAgo * 1000 <= calmWithinMs));
      const watchedMs = world.clock.now() - (this.#openedMs.get(daemon.name) ?? 0);
      if (Math.min(uptimeSeconds * 1000, watchedMs) >= calmWithinMs && unproven.length > 0)
        board.say(
          'status',
          'unproven',
          `${daemon.name} has proven nothing since all is calm: ${JSON.stringify(unproven)}`,
        );
      if (outages.length > 0) board.say('status', 'outage', `${daemon.name} has outages: ${JSON.stringify(outages)}`);
    }
  }

  /** Who is refused has a warning with that reason. With faults an event may be lost, as nothing waits for one. */
  #told({ trouble = [], endpointSlices }: Pick<DaemonStatus, 'trouble' | 'endpointSlices'>): void {
    const { world, board } = this.#options;
    const { store } = world.clusters.virtual;
    const warnings = store.written.flatMap(({ key, after }) =>
      key.includes('/events/') && after?.['type'] === 'Warning' ? [after as unknown as WarningEvent] : [],
    );
    const all = { endpoints: trouble, endpointslices: endpointSlices?.trouble ?? [] };
    for (const resource of ['endpoints', 'endpointslices'] as const)
      for (const { object, state } of all[resource]) {
        const [kind, reason] = state.split('/');
        const uid = store.peek(`${registry[resource]}/${object}`)?.metadata.uid;
        // A tenant cannot grant what the daemon lacks.
        if (kind !== 'refused' || reason === 'Forbidden' || uid === undefined) continue;
        if (!warnings.some((one) => one.reason === reason && one.involvedObject?.uid === uid))
          board.say('told', `no event: ${reason}`, `${resource} ${object} is ${state}, and no event tells the tenant`);
      }
  }

  async finish(): Promise<void> {
    const { world, board } = this.#options;
    for (const side of rigSides) world.proxies[side].meddlers = [];
    this.#counts();
    this.contents = contentsOf(world);
    for (const side of rigSides) this.#untilFinish[side] = world.clusters[side].store.written.length;
    for (let position = 0; position < world.daemons.length; position++) await world.restart(position);
    const isReady = await world.until(() => world.daemons.every((one) => one.isReady), restartSilenceMs);
    if (!isReady) board.say('liveness', 'not ready', 'a daemon that was restarted in calm is not ready');
    await world.advance(restartSilenceMs);
    const written = rigSides.flatMap((side) =>
      world.clusters[side].store.written
        .slice(this.#untilFinish[side])
        .filter(isSyncWrite)
        .map(
          ({ key, before, after }) =>
            `${side} ${key} ${JSON.stringify(before?.metadata)} → ${JSON.stringify(after?.metadata)}`,
        ),
    );
    if (written.length > 0)
      board.say('silence', 'writes', `a restart in calm wrote: ${written.slice(0, 3).join('; ')}`);
    this.#secrecy();
    for (const name of world.overdue)
      board.say('liveness', 'SIGTERM', `${name} did not end within six seconds of SIGTERM`);
  }

  /** S8. */
  #secrecy(): void {
    const { world, board } = this.#options;
    const events = rigSides.flatMap((side) =>
      world.clusters[side].store.written.filter(({ key }) => key.includes('/events/')),
    );
    const texts = [...world.everyDaemon.flatMap(({ log }) => log), ...events.map(({ after }) => JSON.stringify(after))];
    const told = texts.find((text) => /rig-token-of|content-\d/.test(text ?? ''));
    if (told !== undefined) board.say('S8', 'told', `a secret is in: ${told.slice(0, 300)}`);
  }

  #counts(): void {
    const { faultless, board, faults, world } = this.#options;
    if (faultless === undefined) return;
    const struck = faults.reduce((sum, one) => sum + one.struck, 0);
    const deaths = world.everyDaemon.length;
    for (const [object, count] of this.writes()) {
      const allowed = 2 * (faultless.writes.get(object) ?? 0) + redundantWrites + struck + deaths;
      if (count > allowed)
        board.say(
          'counts',
          'too many writes',
          `${object}: ${count} writes, ${faultless.writes.get(object) ?? 0} without faults`,
        );
    }
  }

  writes(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const side of rigSides)
      for (const { key } of this.#options.world.clusters[side].store.written.filter(isSyncWrite))
        counts.set(`${side} ${key}`, (counts.get(`${side} ${key}`) ?? 0) + 1);
    return counts;
  }
}
