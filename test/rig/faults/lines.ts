// Effects on the events of watches: lost, doubled, late, in another order, cut off, or no events at all.
import type { OpenWatch } from '../proxy/fault-proxy.ts';
import type { WatchedLine } from '../proxy/passing.ts';
import { registry } from '../stage/rig-cluster.ts';
import { changedBodies, garbage } from './garbage.ts';
import { type Effect, isSynced, type LiveFault, onLines, statusBody } from './live-fault.ts';

/** How many lines are hit, by size. */
const few = (fault: LiveFault): boolean => fault.struck < fault.placed.size;

const unseen = new WeakMap<LiveFault, Set<string>>();

export const linesEffects = {
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
  /** All lines about them, until they have been still for a second. */
  swallowNew: onLines((fault, { line }) => {
    const lost = unseen.get(fault) ?? new Set<string>();
    unseen.set(fault, lost);
    const about = `${line.resource} ${line.key}`;
    if (line.type === 'ADDED' && few(fault)) {
      fault.strike(1_000);
      lost.add(about);
    }
    return fault.isLasting && lost.has(about) ? [] : undefined;
  }),
  /** Removals by people, also with long times between them: after most of them a list comes before a proof. What a daemon has removed it knows. */
  swallowGone: onLines((fault, { line }) => {
    if (line.type !== 'DELETED' || !few(fault) || isDaemons(fault, line)) return undefined;
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
  noBookmarks: {
    line: (fault, _watch, line) => {
      if (line.type !== 'BOOKMARK') return undefined;
      fault.strike();
      return [];
    },
  },
  /** A bookmark arrives, and then nothing any more: the connection is half open. All others are well. */
  silentWatch: {
    line: (fault, watch, { type }, text) => {
      if (fault.hasStruck || type !== 'BOOKMARK' || !isSynced(watch.passing.resource)) return undefined;
      fault.strike();
      watch.send(`${text}\n`);
      setImmediate(() => watch.hold());
      return [];
    },
  },
  errorLine: onLines((fault, { watch, text }) => {
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    process.nextTick(() => watch.end());
    return [JSON.stringify({ type: 'ERROR', object: statusBody(fault.recipe) }), text];
  }),
  /** The watch has to list anew, and this list lacks everything. */
  emptyRelist: {
    request: (fault, { side, daemon, verb, resource, isProof, query }) => {
      const { hit } = fault;
      if (fault.struck !== 1 || hit === undefined || side !== fault.placed.side || verb !== 'list') return undefined;
      const isSame = hit.passing.daemon === daemon && hit.passing.resource === resource;
      if (!isSame || isProof || query.has('continue')) return undefined;
      fault.strike();
      return { kind: 'change', body: changedBodies.empty };
    },
    line: (fault, watch, { type }, text) => {
      const isTurn = fault.nowMs >= fault.placed.ms && !fault.hasStruck;
      const isMeant = fault.placed.size === 0 ? type !== 'BOOKMARK' : hasStood(fault, watch);
      if (!isTurn || !isMeant) return undefined;
      fault.strike();
      process.nextTick(() => watch.end());
      return [JSON.stringify({ type: 'ERROR', object: statusBody(fault.recipe) }), text];
    },
  },
  cutLine: onLines((fault, { watch, text }) => {
    if (ending.has(watch)) return [];
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    ending.add(watch);
    watch.send(text.slice(0, Math.floor(text.length / 2)));
    setImmediate(() => watch.cut());
    return [];
  }),
  endWatch: onLines((fault, { watch }) => {
    if (ending.has(watch)) return [];
    if (fault.struck >= fault.placed.times) return undefined;
    fault.strike();
    ending.add(watch);
    process.nextTick(() => watch.end());
    return [];
  }),
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
  muteWatches: {
    request: (fault, passing, isTurn) => {
      if (isTurn && !fault.hasStruck) fault.strike(fault.placed.ms);
      return fault.isLasting && fault.matches(passing) ? { kind: 'hang' } : undefined;
    },
    line: (fault) => (fault.isLasting ? [] : undefined),
  },
} satisfies Record<string, Effect>;

/** A later line of the same turn would make the end of a watch a lost event. */
const ending = new WeakSet<OpenWatch>();

/** By size: longer than anything is on its way, and longer than another fault keeps anything back. */
const stillMs = [0, 20_000, 100_000];

/** Nothing has happened for so long, and the list will lack objects by which the daemon knows what has copies. */
function hasStood({ nowMs, placed, world }: LiveFault, { passing: { resource } }: OpenWatch): boolean {
  const { store } = world.clusters[placed.side];
  if (!isSynced(resource) && resource !== 'services') return false;
  if (store.entries(`${registry[resource as keyof typeof registry]}/`).length === 0) return false;
  const last = store.written.findLast(({ key }) => !/\/(leases|events)\//.test(key));
  return nowMs - (last?.atMs ?? 0) >= (stillMs[placed.size] ?? 0);
}

/** Whether a daemon has written what the line tells. */
function isDaemons({ placed, world }: LiveFault, { resource, key }: WatchedLine): boolean {
  const path = `${registry[resource as keyof typeof registry]}/${key}`;
  return world.clusters[placed.side].store.written.findLast((one) => one.key === path)?.by?.daemon !== undefined;
}

function hold(fault: LiveFault, watch: OpenWatch, text: string): readonly string[] {
  const held = { watch, text };
  fault.lines.push(held);
  fault.later(fault.placed.ms, () => {
    fault.lines.splice(fault.lines.indexOf(held), 1);
    watch.send(`${text}\n`);
  });
  return [];
}
