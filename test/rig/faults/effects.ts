// What the recipes do to a run. An effect waits for its request, strikes, and says when it has struck and when it is over.
import type { Meddler, Meddling, OpenWatch } from '../proxy/fault-proxy.ts';
import type { Passing, WatchedLine } from '../proxy/passing.ts';
import type { MemoryWire } from '../stage/memory-wire.ts';
import { webhookLabel } from '../stage/replayed-store.ts';
import type { Synced } from '../traffic/acts.ts';
import { hostEdit, mergePatch } from '../traffic/play.ts';
import type { World } from '../world.ts';
import { changedBodies, garbage } from './garbage.ts';
import type { PlacedFault } from './placed.ts';
import type { Recipe } from './recipes.ts';

export type EffectName = keyof typeof effects;

export class LiveFault implements Meddler {
  readonly placed: PlacedFault;
  readonly recipe: Recipe;
  readonly world: World;
  /** Requests of its verb and side since the daemon began. */
  seen = 0;
  struck = 0;
  /** Undefined until it strikes. */
  firstMs: number | undefined;
  endMs = 0;
  /** Work of the effect that goes on by itself, such as a server that is down. */
  pending = 0;
  /** The watch that it struck last. */
  hit: OpenWatch | undefined;
  readonly lines: { watch: OpenWatch; text: string }[] = [];
  /** The watches of its side that were open when it struck first. */
  watchesAtStrike: readonly OpenWatch[] = [];
  readonly #effect: Effect;

  constructor(placed: PlacedFault, recipe: Recipe, world: World) {
    this.placed = placed;
    this.recipe = recipe;
    this.world = world;
    this.#effect = effects[recipe.effect] as Effect;
  }

  get nowMs(): number {
    return this.world.clock.now();
  }

  get hasStruck(): boolean {
    return this.struck > 0;
  }

  get isOver(): boolean {
    return this.hasStruck && this.pending === 0 && this.nowMs >= this.endMs;
  }

  /** Within its time, once it has struck. */
  get isLasting(): boolean {
    return this.hasStruck && this.nowMs < this.endMs;
  }

  strike(forMs = 0): void {
    if (this.struck++ === 0) this.watchesAtStrike = [...this.world.proxies[this.placed.side].watches];
    this.firstMs ??= this.nowMs;
    this.endMs = Math.max(this.endMs, this.nowMs + forMs);
  }

  /** Runs later on the clock of the run, and holds the end of the fault until then. */
  later(ms: number, run: () => void | Promise<void>): void {
    this.pending++;
    this.world.clock.after(ms, () => {
      void Promise.resolve(run()).finally(() => {
        this.pending--;
      });
    });
  }

  matches(passing: Passing): boolean {
    return passing.side === this.placed.side && passing.verb === this.placed.verb && !passing.isProof;
  }

  request(passing: Passing): Meddling | undefined {
    const isMatch = this.matches(passing);
    if (isMatch) this.seen++;
    const isTurn = isMatch && this.seen >= this.placed.nth && this.struck < this.placed.times;
    return this.#effect.request?.(this, passing, isTurn);
  }

  line(watch: OpenWatch, line: WatchedLine, text: string): readonly string[] | undefined {
    if (watch.passing.side !== this.placed.side) return undefined;
    const before = this.struck;
    const instead = this.#effect.line?.(this, watch, line, text);
    if (this.struck > before) this.hit = watch;
    return instead;
  }

  connect(daemon: string, hostname: string): ReturnType<NonNullable<Meddler['connect']>> {
    return this.#effect.connect?.(this, daemon, hostname);
  }

  wire(wire: MemoryWire, daemon: string): void {
    this.#effect.wire?.(this, wire, daemon);
  }

  /** No strikes after this. */
  withdraw(): void {
    this.#effect.withdraw?.(this);
  }
}

interface Effect {
  request?(fault: LiveFault, passing: Passing, isTurn: boolean): Meddling | undefined;
  line?(fault: LiveFault, watch: OpenWatch, line: WatchedLine, text: string): readonly string[] | undefined;
  connect?(fault: LiveFault, daemon: string, hostname: string): ReturnType<NonNullable<Meddler['connect']>>;
  wire?(fault: LiveFault, wire: MemoryWire, daemon: string): void;
  withdraw?(fault: LiveFault): void;
}

type Turn = (fault: LiveFault, passing: Passing) => Meddling | undefined;

/** Strikes at its turn, and at nothing else. */
const onTurn = (strike: Turn): Effect => ({
  request: (fault, passing, isTurn) => {
    if (!isTurn) return undefined;
    fault.strike();
    return strike(fault, passing);
  },
});

/** From its turn on, everything of its verb and side for a while. */
const forAWhile = (strike: Turn, isEverything = false): Effect => ({
  request: (fault, passing, isTurn) => {
    if (isTurn && !fault.hasStruck) fault.strike(fault.placed.ms);
    const isMeant = fault.matches(passing) || (isEverything && passing.side === fault.placed.side);
    return fault.isLasting && isMeant ? strike(fault, passing) : undefined;
  },
});

/** Every line of watches of the side, from the moment of its turn on. */
const onLines = (
  strike: (
    fault: LiveFault,
    at: { watch: OpenWatch; line: WatchedLine; text: string },
  ) => readonly string[] | undefined,
): Effect => ({
  request: (fault, passing, isTurn) => {
    // The turn is counted by watches; the strike comes with a line.
    if (isTurn && fault.matches(passing)) fault.lines.length = 0;
    return undefined;
  },
  line: (fault, watch, line, text) => {
    if (fault.seen < fault.placed.nth || line.type === 'BOOKMARK') return undefined;
    return strike(fault, { watch, line, text });
  },
});

function statusBody({ status = 500, text = 'InternalError', message = 'the rig says so' }: Recipe): object {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: text,
    code: status,
  };
  return body;
}

const answer = ({ recipe }: LiveFault): Meddling => ({
  kind: 'answer',
  status: recipe.status ?? 500,
  body: statusBody(recipe),
  ...(recipe.headers && { headers: { ...recipe.headers } }),
});

const change = (body: (text: string) => string): Effect => onTurn(() => ({ kind: 'change', body }));

/** How many lines are hit, by size. */
const few = (fault: LiveFault): boolean => fault.struck < fault.placed.size;

const effects = {
  killBefore: onTurn(({ world }, { daemon }) => {
    world.crash(daemon);
    return { kind: 'hang' };
  }),
  killSent: onTurn(({ world }, { daemon, id, side }) => {
    world.onAnswer(side, id, () => world.crash(daemon));
    return undefined;
  }),
  killAnswered: onTurn(({ world }, { daemon }) => {
    world.afterStill(() => world.crash(daemon));
    return undefined;
  }),
  /** The write passes; the daemon dies at the next one. */
  killNext: {
    request: (fault, passing, isTurn) => {
      if (isTurn) fault.strike();
      else if (fault.struck === 1 && ['create', 'update', 'delete'].includes(passing.verb)) {
        fault.strike();
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      return undefined;
    },
  },
  killPage: {
    request: (fault, passing, isTurn) => {
      if (passing.side !== fault.placed.side || passing.verb !== 'list') return undefined;
      if (fault.hasStruck && passing.query.has('continue') && fault.pending === 0 && fault.endMs === 0) {
        fault.endMs = fault.nowMs;
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      if (!isTurn || passing.query.has('continue')) return undefined;
      fault.strike();
      return { kind: 'change', path: pagedPath(passing, 1) };
    },
  },
  crashLoop: {
    request: (fault, passing) => {
      if (fault.seen < fault.placed.nth || fault.struck >= fault.placed.times) return undefined;
      const counted = (crashes.get(fault) ?? 0) + 1;
      crashes.set(fault, counted);
      if (counted % fault.placed.size !== 0) return undefined;
      fault.strike();
      fault.world.crash(passing.daemon);
      return { kind: 'hang' };
    },
  },
  staleRestart: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(3_000);
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      if (!fault.isLasting || !fault.matches(passing)) return undefined;
      return stale(fault, passing);
    },
  },
  staleList: onTurn(stale),
  lateLines: onLines((fault, { watch, text }) => {
    if (!fault.hasStruck) fault.strike(fault.placed.ms);
    if (!fault.isLasting)
      return fault.lines.some((held) => held.watch === watch) ? hold(fault, watch, text) : undefined;
    return hold(fault, watch, text);
  }),
  swallow: onLines((fault) => {
    if (!few(fault)) return undefined;
    fault.strike();
    return [];
  }),
  duplicate: onLines((fault, { text }) => {
    if (!few(fault)) return undefined;
    fault.strike();
    return [text, text];
  }),
  swap: onLines((fault, { watch, text }) => {
    const at = fault.lines.findIndex((held) => held.watch === watch);
    if (at >= 0) return [text, fault.lines.splice(at, 1)[0]?.text ?? ''];
    if (!few(fault)) return undefined;
    fault.strike(1_000);
    fault.lines.push({ watch, text });
    // A line without a neighbour comes late.
    fault.later(1_000, () => {
      const still = fault.lines.findIndex((held) => held.text === text);
      if (still >= 0) watch.send(`${fault.lines.splice(still, 1)[0]?.text}\n`);
    });
    return [];
  }),
  /** Only the last of several events of one object arrives. */
  coalesce: onLines((fault, { watch, line, text }) => {
    if (!fault.hasStruck) fault.strike(fault.placed.ms);
    if (!fault.isLasting) return undefined;
    const held = fault.lines.find(
      (one) => one.watch === watch && one.text.includes(`"name":"${line.key.split('/')[1]}"`),
    );
    if (held !== undefined) held.text = text;
    else {
      const fresh = { watch, text };
      fault.lines.push(fresh);
      fault.later(fault.placed.ms, () => watch.send(`${fresh.text}\n`));
    }
    return [];
  }),
  down: onTurn((fault, { daemon }) => {
    fault.world.crash(daemon, fault.placed.ms);
    fault.endMs = fault.nowMs + fault.placed.ms;
    return { kind: 'hang' };
  }),
  noBookmarks: {
    line: (fault, _watch, line) => {
      if (line.type !== 'BOOKMARK') return undefined;
      fault.strike();
      return [];
    },
  },
  answer: onTurn(answer),
  answerLong: forAWhile(answer),
  flap: forAWhile((fault) => (fault.world.flips(fault.placed.nth) ? answer(fault) : undefined), true),
  errorLine: onLines((fault, { watch, text }) => {
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    process.nextTick(() => watch.end());
    return [JSON.stringify({ type: 'ERROR', object: statusBody(fault.recipe) }), text];
  }),
  expiredPage: {
    request: (fault, passing, isTurn) => {
      if (!fault.matches(passing)) return undefined;
      if (passing.query.has('continue') && fault.hasStruck && fault.struck <= fault.placed.times) {
        fault.strike();
        return { kind: 'answer', status: 410, body: statusBody({ ...fault.recipe, status: 410, text: 'Expired' }) };
      }
      if (!isTurn || passing.query.has('continue')) return undefined;
      fault.strike();
      return { kind: 'change', path: pagedPath(passing, 1) };
    },
  },
  emptyList: change(changedBodies.empty),
  otherKind: change(changedBodies.otherKind),
  noItems: change(changedBodies.noItems),
  noVersion: change(changedBodies.noVersion),
  halfBody: change((text) => text.slice(0, Math.floor(text.length / 2))),
  garbageBody: onTurn((fault) => ({ kind: 'change', body: () => garbage[fault.placed.size] ?? '' })),
  connectError: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      fault.strike(fault.placed.ms);
      fault.world.proxies[fault.placed.side].reset();
      return { kind: 'cut', when: 'before' };
    },
    connect: (fault) => (fault.isLasting ? { error: failure(fault.recipe.text ?? '') } : undefined),
  },
  cutAfter: onTurn(() => ({ kind: 'cut', when: 'after' })),
  cutBody: onTurn(() => ({ kind: 'cut', when: 'body' })),
  cutLine: onLines((fault, { watch, text }) => {
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    watch.send(text.slice(0, Math.floor(text.length / 2)));
    setImmediate(() => watch.cut());
    return [];
  }),
  endWatch: onLines((fault, { watch }) => {
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    process.nextTick(() => watch.end());
    return [];
  }),
  /** What is open stays dead for good, as behind a firewall that has lost its state; nothing new can be opened for a while. */
  blackhole: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      fault.strike(fault.placed.ms);
      for (const wire of fault.world.proxies[fault.placed.side].wires.keys()) {
        wire.hold('client');
        wire.hold('server');
      }
      return { kind: 'hang' };
    },
    connect: (fault) => (fault.isLasting ? { error: failure('ETIMEDOUT'), afterMs: connectTimeoutMs } : undefined),
  },
  hang: onTurn(() => ({ kind: 'hang' })),
  delay: onTurn((fault) => {
    fault.endMs = Math.max(fault.endMs, fault.nowMs + fault.placed.ms);
    return { kind: 'delay', ms: fault.placed.ms };
  }),
  delayAnswer: onTurn((fault) => {
    fault.endMs = Math.max(fault.endMs, fault.nowMs + fault.placed.ms);
    return { kind: 'delayAnswer', ms: fault.placed.ms };
  }),
  delayLong: forAWhile((fault) => ({ kind: 'delay', ms: fault.placed.size })),
  slice: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      fault.strike(fault.placed.ms);
      for (const wire of fault.world.proxies[fault.placed.side].wires.keys()) wire.sliceBytes = fault.placed.size;
      return undefined;
    },
    wire: (fault, wire) => {
      if (fault.isLasting) wire.sliceBytes = fault.placed.size;
    },
  },
  giantLine: onLines((fault, { watch, text }) => {
    if (fault.hasStruck) return undefined;
    fault.strike();
    const event = JSON.parse(text) as { object: { metadata: { annotations?: Record<string, string> } } };
    event.object.metadata = {
      ...event.object.metadata,
      ...{ managedFields: [{ manager: 'x'.repeat(1_500_000) }] },
    } as never;
    watch.send(`${JSON.stringify(event)}\n`);
    return [];
  }),
  garbageLine: onLines((fault) => {
    if (fault.hasStruck) return undefined;
    fault.strike();
    return [garbage[fault.placed.size] ?? ''];
  }),
  restartServer: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { ms, times, side } = fault.placed;
      const { world } = fault;
      fault.strike(ms * 2 * times);
      for (let nth = 0; nth < times; nth++)
        fault.later(nth * ms * 2, () => {
          world.clusters[side].cluster.server.endWatches();
          world.proxies[side].reset();
        });
      return { kind: 'cut', when: 'before' };
    },
    connect: (fault) => {
      if (!fault.isLasting || fault.firstMs === undefined) return undefined;
      const isDown = Math.floor((fault.nowMs - fault.firstMs) / fault.placed.ms) % 2 === 0;
      return isDown ? { error: failure('ECONNREFUSED') } : undefined;
    },
  },
  rollBack: onTurn((fault) => {
    const { side, size } = fault.placed;
    const { store, cluster } = fault.world.clusters[side];
    fault.pending++;
    void store.setBack(Math.max(fault.world.preparedRevision[side], store.revision - size)).then(() => {
      cluster.server.endWatches();
      fault.world.proxies[side].reset();
      fault.pending--;
    });
    return { kind: 'cut', when: 'before' };
  }),
  compact: onTurn((fault) => {
    const { side, ms } = fault.placed;
    const { world } = fault;
    fault.endMs = fault.nowMs + ms;
    world.proxies[side].reset();
    fault.later(ms - 1, async () => {
      await world.clusters[side].store.compact(world.clusters[side].store.revision);
    });
    return { kind: 'cut', when: 'before' };
  }),
  partition: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(fault.placed.ms);
        fault.world.proxies[fault.placed.side].reset();
      }
      return fault.isLasting && passing.side === fault.placed.side ? { kind: 'hang' } : undefined;
    },
  },
  muteWatches: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) fault.strike(fault.placed.ms);
      return fault.isLasting && fault.matches(passing) ? { kind: 'hang' } : undefined;
    },
    line: (fault) => (fault.isLasting ? [] : undefined),
  },
  jumpWall: onTurn((fault, { daemon }) => {
    fault.world.daemonOf(daemon)?.clock.jumpWall(fault.placed.size * 1000);
    return undefined;
  }),
  holdDaemon: onTurn((fault, { daemon }) => {
    const held = fault.world.daemonOf(daemon);
    held?.hold();
    fault.later(fault.placed.ms, () => held?.resume());
    return undefined;
  }),
  deleteLease: onTurn((fault, passing) => {
    fault.pending++;
    const path = `/apis/coordination.k8s.io/v1/namespaces/${passing.namespace}/leases/hostward-vc`;
    void fault.world.clusters.host.people('DELETE', path).then(() => {
      fault.pending--;
    });
    return undefined;
  }),
  partitionLease: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) {
        fault.strike(fault.placed.ms);
        victims.set(fault, passing.daemon);
      }
      const isMeant = fault.isLasting && passing.verb === 'lease' && victims.get(fault) === passing.daemon;
      return isMeant ? { kind: 'hang' } : undefined;
    },
  },
  terminate: onTurn((fault, { daemon }) => {
    fault.pending++;
    void fault.world.terminate(daemon).finally(() => {
      fault.pending--;
    });
    return undefined;
  }),
  terminateTwice: onTurn((fault, { daemon }) => {
    fault.pending++;
    void fault.world.daemonOf(daemon)?.stop();
    void fault.world.terminate(daemon).finally(() => {
      fault.pending--;
    });
    return undefined;
  }),
  /** The address is another one, and nothing answers at the old one. The files name the new one a while later. */
  moveServer: {
    request: (fault, _passing, isTurn) => {
      if (!isTurn || fault.hasStruck) return undefined;
      const { side, ms } = fault.placed;
      fault.strike();
      former.set(fault, fault.world.hostnames[side]);
      fault.world.proxies[side].reset();
      fault.later(ms, () => fault.world.moveServer(side));
      return { kind: 'cut', when: 'before' };
    },
    connect: (fault, _daemon, hostname) =>
      former.get(fault) === hostname ? { error: failure('ECONNREFUSED') } : undefined,
  },
  /** A mutating webhook labels everything that is written. */
  webhook: forAWhile(
    ({ placed }, { verb, resource }) =>
      ['create', 'update'].includes(verb) && placed.side === 'host' && isSynced(resource)
        ? { kind: 'change', request: sealed }
        : undefined,
    true,
  ),
  /** A program of the host fights for the object that the daemon has just written, and then the daemon dies. */
  contestAndKill: {
    request: (fault, passing, isTurn) => {
      const path = passing.path.split('?')[0] ?? '';
      const fought = fights.get(fault);
      if (fought === undefined && isTurn && isSynced(passing.resource)) {
        fault.strike(rivalEveryMs * rivalEdits);
        fights.set(fault, path);
        for (let nth = 1; nth <= rivalEdits; nth++)
          fault.later(nth * rivalEveryMs, async () => {
            const { host } = fault.world.clusters;
            await host.people('PATCH', `${path}?fieldManager=rival`, hostEdit(passing.resource as Synced), mergePatch);
          });
      } else if (fought === path && fault.struck === 1 && fault.nowMs >= (fault.firstMs ?? 0) + diesAfterMs) {
        fault.struck++;
        fault.world.crash(passing.daemon);
        return { kind: 'hang' };
      }
      return undefined;
    },
  },
  warnings: {
    request: (fault, passing) => {
      if (passing.side !== fault.placed.side || passing.verb === 'watch') return undefined;
      fault.strike();
      return { kind: 'change', headers: { warning: '299 - "the rig warns"' } };
    },
  },
} satisfies Record<string, Effect>;

/** As long as the daemon waits for a connection. */
const connectTimeoutMs = 10_000;

function failure(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/** From the fifth repair within ten seconds on an object is contested. */
const rivalEveryMs = 300;
const rivalEdits = 12;
const diesAfterMs = 2_000;
const fights = new WeakMap<LiveFault, string>();
const former = new WeakMap<LiveFault, string>();

function isSynced(resource: string): boolean {
  return resource === 'endpoints' || resource === 'endpointslices';
}

function sealed(text: string): string {
  const body = JSON.parse(text) as { metadata?: { labels?: object } };
  const labels = { ...body.metadata?.labels, [webhookLabel]: 'yes' };
  return JSON.stringify({ ...body, metadata: { ...body.metadata, labels } });
}

const crashes = new WeakMap<LiveFault, number>();
const victims = new WeakMap<LiveFault, string>();

function hold(fault: LiveFault, watch: OpenWatch, text: string): readonly string[] {
  const held = { watch, text };
  fault.lines.push(held);
  fault.later(fault.placed.ms, () => {
    fault.lines.splice(fault.lines.indexOf(held), 1);
    watch.send(`${text}\n`);
  });
  return [];
}

/** The same list as it was some revisions ago, true to the last byte. */
function stale(fault: LiveFault, passing: Passing): Meddling | undefined {
  if (passing.query.has('continue')) return undefined;
  const { store } = fault.world.clusters[fault.placed.side];
  const query = new URLSearchParams(passing.query);
  query.set('resourceVersion', String(Math.max(1, store.revision - fault.placed.size)));
  query.set('resourceVersionMatch', 'Exact');
  return { kind: 'change', path: `${passing.path.split('?')[0]}?${query}` };
}

/** The server gives so small pages that a list has several. */
function pagedPath({ path, query }: Passing, limit: number): string {
  const paged = new URLSearchParams(query);
  paged.set('limit', String(limit));
  return `${path.split('?')[0]}?${paged}`;
}
