// The conductor: looks, asks decide for the next step, sends it, and tells the windows what came of it, until the key is
// settled. It holds no rule of its own. Everything it may do to a cluster goes through the two writers.
import type { Answer } from '../cluster/answer.ts';
import type { IsKnown } from '../cluster/object-head.ts';
import type { Item, Window } from '../cluster/window.ts';
import { servicesResource, type Writer } from '../cluster/writer.ts';
import { type Key, keyOf } from '../object/object.ts';
import { absorb } from './absorb.ts';
import { isAsAsked } from './as-asked.ts';
import type { Agreement } from './base.ts';
import { decide } from './decide.ts';
import { type HostItem, projectHostService } from './kind.ts';
import { isSamePlace } from './ownership.ts';
import type { Place } from './placement.ts';
import {
  type BackValues,
  type Facts,
  freshMemory,
  type HeldWrite,
  isHostWrite,
  type Memory,
  type Outcome,
  type Request,
  type Step,
} from './step.ts';
import type { Circumstances, Rules, World } from './world.ts';

/** A pass that has not settled by then has met a bug or a very determined opponent; back-off takes over. */
const requestLimit = 16;

/** Patches, as the conductor sees them; undefined when the configuration has none. */
export interface Patching {
  /** At once where it can be. */
  forward(facts: Facts): Facts | Promise<Facts>;
  back(facts: Facts, raw: BackValues): Promise<Facts>;
}

export interface Hands {
  world: World;
  readonly patching: Patching | undefined;
  virtualWriter: Writer;
  hostWriter: Writer;
  /** Of passes that ended before the base could be written; see Agreement. */
  readonly agreements?: Map<Key, Agreement>;
  circumstances(key: Key): Circumstances;
  /** Told before every look: the echoes of own writes that came until then need no pass of their own. */
  looking(key: Key): void;
  /** Something about the key has come in since the last look. */
  hasNews(key: Key): boolean;
  /** Keys whose host copy is being written: the answer says more about it than any news of it that comes before. */
  readonly underWay: Set<Key>;
  /** Has another key looked at. */
  wake(key: Key): void;
  /** Asked before every write: an outcome instead of the write, or nothing to let it go. */
  mayWrite(facts: Facts, request: Request): Outcome | undefined;
  /** Told after every write that was answered. */
  written(facts: Facts, request: Request, end: { answer: Answer; isAsAsked: boolean }): void;
}

export interface Ended {
  outcome: Outcome;
  facts: Facts;
  /** The write that the pass was not allowed. */
  held?: HeldWrite;
}

export async function reconcile(key: Key, hands: Hands): Promise<Ended> {
  const mustRead = hands.world.isHostUnseen(key) ? ('host' as const) : undefined;
  const pass = { memory: { ...freshMemory(), mustRead, agreed: hands.agreements?.get(key) } };
  const ended = await settle(key, pass, hands);
  // What a pass left half done must not look like the tenant's own edit to the next one.
  const isHalfDone = ended.outcome.kind === 'retry' || ended.outcome.kind === 'waiting';
  if (isHalfDone && pass.memory.agreed !== undefined) hands.agreements?.set(key, pass.memory.agreed);
  else hands.agreements?.delete(key);
  return ended;
}

async function settle(key: Key, pass: { memory: Memory }, hands: Hands): Promise<Ended> {
  for (let requests = 0; requests < requestLimit; requests++) {
    hands.looking(key);
    const { rules } = hands.world;
    const { facts, step } = await think(key, pass.memory, hands);
    if (step.kind === 'done') return { outcome: step.outcome, facts };
    const { request } = step;
    const instead = request.verb === 'get' ? undefined : hands.mayWrite(facts, request);
    if (instead !== undefined) return { outcome: instead, facts, held: { request, memory: pass.memory } };
    const answer = await sendFor(key, request, hands);
    tellWindows(request, answer, { facts, hands });
    pass.memory = remember(absorb(pass.memory, request, answer), request, answer);
    const host =
      step.isLast && answer.kind === 'ok' ? hostAsAsked(request, answer, { facts, rules, hands }) : undefined;
    if (request.verb !== 'get') hands.written(facts, request, { answer, isAsAsked: host !== undefined });
    if (host !== undefined) {
      if (leavesMetadata(request)) hands.world.noteSettledMetadata(facts, rules);
      return { outcome: { kind: 'inSync' }, facts: { ...facts, host } };
    }
  }
  const facts = hands.world.look(key, hands.circumstances(key));
  return { outcome: { kind: 'retry', message: `not settled after ${requestLimit} requests` }, facts };
}

/** One look and one decision. Patches run in between, because only they need another process to think. */
async function think(key: Key, memory: Memory, hands: Hands): Promise<{ facts: Facts; step: Step }> {
  const { world, patching } = hands;
  const { translation } = world.rules;
  const seen = world.look(key, hands.circumstances(key), { mayLeaveMetadata: memory.agreed === undefined });
  const patched = patching === undefined ? seen : patching.forward(seen);
  const facts = patched instanceof Promise ? await patched : patched;
  const step = decide(facts, memory, translation);
  const request = step.kind === 'request' ? step.request : undefined;
  const isBack = request?.side === 'virtual' && request.verb === 'patch';
  if (!isBack || patching === undefined) return { facts, step };
  const reversed = await patching.back(facts, request.back);
  return { facts: reversed, step: decide(reversed, memory, translation) };
}

function leavesMetadata(request: Request): boolean {
  if (request.side !== 'host' || request.verb !== 'patch') return false;
  const { labels, annotations, ownerReferences } = request.mergePatch.metadata;
  return labels === undefined && annotations === undefined && ownerReferences === undefined;
}

async function sendFor(key: Key, request: Request, hands: Hands): Promise<Answer> {
  if (isHostWrite(request)) hands.underWay.add(key);
  try {
    return await send(request, hands);
  } finally {
    hands.underWay.delete(key);
  }
}

function send(request: Request, hands: Hands): Promise<Answer> {
  const { resource } = hands.world.rules.translation.kind;
  const writer = request.side === 'host' ? hands.hostWriter : hands.virtualWriter;
  const { host, virtual } = hands.world.windows;
  const window: Window<Item> = request.side === 'host' ? host : virtual;
  // The watch is often quicker than the answer.
  const isKnown: IsKnown = ({ namespace, name, resourceVersion }) =>
    window.get(keyOf(namespace, name))?.resourceVersion === resourceVersion;
  switch (request.verb) {
    case 'create':
      return writer.create(resource, request.object, isKnown);
    case 'patch':
      return writer.patch(resource, request.place, request.mergePatch, isKnown);
    case 'remove':
      return writer.remove(resource, request.place, request.preconditions);
    case 'get':
      return writer.get(
        request.side === 'host' && request.what === 'service' ? servicesResource : resource,
        request.place,
      );
    default:
      return request satisfies never;
  }
}

/**
 * Own results are known at once: the next look must not see the world from before the write. When the watch tells of them,
 * they are no news any more, so others whom they concern are woken here.
 */
function tellWindows(request: Request, answer: Answer, { facts, hands }: { facts: Facts; hands: Hands }): void {
  if (request.verb === 'get' && request.side === 'host' && request.what === 'service') return;
  const place = request.verb === 'create' ? facts.place : request.place;
  if (place === undefined) return;
  const { world } = hands;
  if (request.side === 'virtual') {
    const wasThere = world.windows.virtual.has(facts.key);
    tellWindow(world.windows.virtual, { request, answer, place, seen: facts.virtual });
    if (world.windows.virtual.has(facts.key) === wasThere) return;
    for (const rival of world.noteVirtual(facts.key)) hands.wake(rival);
    return;
  }
  const seen = [facts.host, ...facts.strays].find((item) => item !== undefined && isSamePlace(item, place));
  tellWindow(world.windows.host, { request, answer, place, seen });
  if (world.hostOf(place)?.resourceVersion === seen?.resourceVersion) return;
  for (const other of world.noteHost(keyOf(place.namespace, place.name))) if (other !== facts.key) hands.wake(other);
}

function tellWindow(
  window: Window<Item>,
  { request, answer, place, seen }: { request: Request; answer: Answer; place: Place; seen: Item | undefined },
): void {
  const key = keyOf(place.namespace, place.name);
  if (answer.kind === 'notFound') {
    // Gone as it was seen before it was asked for: another one may have come since.
    if (seen !== undefined) window.forget(key, seen.resourceVersion);
  } else if (answer.kind === 'ok' && !answer.isHead) {
    // With finalizers a deleted object is still there and carries its deletionTimestamp; a plain Status means it is gone.
    const isGone = answer.object.kind === 'Status' || answer.object.metadata?.deletionTimestamp === undefined;
    if (request.verb === 'remove' && isGone) window.forget(key, request.preconditions.resourceVersion);
    else window.remember(answer.object);
  }
}

/** The host copy after the last write of a pass, when it is what was asked for and nothing new has come in meanwhile. */
function hostAsAsked(
  request: Request,
  answer: Answer & { kind: 'ok' },
  { facts, rules, hands }: { facts: Facts; rules: Rules; hands: Hands },
): HostItem | undefined {
  if (!isHostWrite(request)) return undefined;
  if (hands.world.rules !== rules || hands.hasNews(facts.key)) return undefined;
  if (facts.place === undefined) return undefined;
  const host = hands.world.hostOf(facts.place);
  if (host === undefined || host.resourceVersion !== answer.object.metadata.resourceVersion) return undefined;
  const asked = request.verb === 'create' ? request.object : request.mergePatch;
  const { windows } = hands.world;
  const isSame = facts.metadata?.host === windows.host.metadataOf(keyOf(facts.place.namespace, facts.place.name));
  const isGood = isAsAsked(host, asked, {
    facts,
    translation: rules.translation,
    isMetadataSame: isSame && leavesMetadata(request),
  });
  return isGood ? host : undefined;
}

function remember(memory: Memory, request: Request, answer: Answer): Memory {
  if (request.verb !== 'get' || request.side !== 'host' || request.what !== 'service') return memory;
  if (answer.kind === 'notFound') return { ...memory, hostService: { known: true, service: undefined } };
  if (answer.kind !== 'ok') return memory;
  return { ...memory, hostService: { known: true, service: projectHostService(answer.object) } };
}
