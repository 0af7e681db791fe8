// The conductor: looks, asks decide for the next step, sends it, and tells the windows what came of it, until the key is
// settled. It holds no rule of its own. Everything it may do to a cluster goes through the two writers.
import type { Answer } from '../cluster/answer.ts';
import type { Item, Window } from '../cluster/window.ts';
import { servicesResource, type Writer } from '../cluster/writer.ts';
import { type Key, keyOf } from '../object/object.ts';
import { afterAnswer } from './after-answer.ts';
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

export interface ReconcilePorts {
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

export async function reconcile(key: Key, ports: ReconcilePorts): Promise<{ outcome: Outcome; facts: Facts }> {
  const mustRead = ports.world.isHostUnseen(key) ? ('host' as const) : undefined;
  const pass = { memory: { ...freshMemory(), mustRead, agreed: ports.agreements?.get(key) } };
  const ended = await settle(key, pass, ports);
  // What a pass left half done must not look like the tenant's own edit to the next one.
  const isHalfDone = ended.outcome.kind === 'retry' || ended.outcome.kind === 'waiting';
  if (isHalfDone && pass.memory.agreed !== undefined) ports.agreements?.set(key, pass.memory.agreed);
  else ports.agreements?.delete(key);
  return ended;
}

async function settle(
  key: Key,
  pass: { memory: Memory },
  ports: ReconcilePorts,
): Promise<{ outcome: Outcome; facts: Facts }> {
  for (let requests = 0; requests < requestLimit; requests++) {
    ports.looking(key);
    const { rules } = ports.world;
    const { facts, step } = await think(key, pass.memory, ports);
    if (step.kind === 'done') return { outcome: step.outcome, facts };
    const { request } = step;
    const instead = request.verb === 'get' ? undefined : ports.mayWrite(facts, request);
    if (instead !== undefined) return { outcome: instead, facts };
    const answer = await sendFor(key, request, ports);
    tellWindows(request, answer, { facts, ports });
    pass.memory = remember(afterAnswer(pass.memory, request, answer), request, answer);
    const host =
      step.isLast && answer.kind === 'ok' ? hostAsAsked(request, answer, { facts, rules, ports }) : undefined;
    if (request.verb !== 'get') ports.written(facts, request, { answer, isAsAsked: host !== undefined });
    if (host !== undefined) {
      return { outcome: { kind: 'inSync' }, facts: { ...facts, host } };
    }
  }
  const facts = ports.world.look(key, ports.circumstances(key));
  return { outcome: { kind: 'retry', message: `not settled after ${requestLimit} requests` }, facts };
}

/** One look and one decision. Patches run in between, because only they need another process to think. */
async function think(key: Key, memory: Memory, ports: ReconcilePorts): Promise<{ facts: Facts; step: Step }> {
  const { world, patching } = ports;
  const { translation } = world.rules;
  const seen = world.look(key, ports.circumstances(key));
  const patched = patching === undefined ? seen : patching.forward(seen);
  const facts = patched instanceof Promise ? await patched : patched;
  const step = decide(facts, memory, translation);
  const request = step.kind === 'request' ? step.request : undefined;
  const isBack = request?.side === 'virtual' && request.verb === 'patch';
  if (!isBack || patching === undefined) return { facts, step };
  const reversed = await patching.back(facts, request.back);
  return { facts: reversed, step: decide(reversed, memory, translation) };
}

async function sendFor(key: Key, request: Request, ports: ReconcilePorts): Promise<Answer> {
  if (isHostWrite(request)) ports.underWay.add(key);
  try {
    return await send(request, ports);
  } finally {
    ports.underWay.delete(key);
  }
}

function send(request: Request, ports: ReconcilePorts): Promise<Answer> {
  const { resource } = ports.world.rules.translation.kind;
  const writer = request.side === 'host' ? ports.hostWriter : ports.virtualWriter;
  switch (request.verb) {
    case 'create':
      return writer.create(resource, request.object);
    case 'patch':
      return writer.patch(resource, request.place, request.mergePatch);
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
function tellWindows(
  request: Request,
  answer: Answer,
  { facts, ports }: { facts: Facts; ports: ReconcilePorts },
): void {
  if (request.verb === 'get' && request.side === 'host' && request.what === 'service') return;
  const place = request.verb === 'create' ? facts.place : request.place;
  if (place === undefined) return;
  const { world } = ports;
  if (request.side === 'virtual') {
    const wasThere = world.windows.virtual.has(facts.key);
    tellWindow(world.windows.virtual, { request, answer, place, seen: facts.virtual });
    if (world.windows.virtual.has(facts.key) === wasThere) return;
    for (const rival of world.noteVirtual(facts.key)) ports.wake(rival);
    return;
  }
  const seen = [facts.host, ...facts.strays].find((item) => item !== undefined && isSamePlace(item, place));
  tellWindow(world.windows.host, { request, answer, place, seen });
  if (world.hostOf(place)?.resourceVersion === seen?.resourceVersion) return;
  for (const other of world.noteHost(keyOf(place.namespace, place.name))) if (other !== facts.key) ports.wake(other);
}

function tellWindow(
  window: Window<Item>,
  { request, answer, place, seen }: { request: Request; answer: Answer; place: Place; seen: Item | undefined },
): void {
  const key = keyOf(place.namespace, place.name);
  if (answer.kind === 'notFound') {
    // Gone as it was seen before it was asked for: another one may have come since.
    if (seen !== undefined) window.forget(key, seen.resourceVersion);
  } else if (answer.kind === 'ok') {
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
  { facts, rules, ports }: { facts: Facts; rules: Rules; ports: ReconcilePorts },
): HostItem | undefined {
  if (!isHostWrite(request)) return undefined;
  if (ports.world.rules !== rules || ports.hasNews(facts.key)) return undefined;
  if (facts.place === undefined) return undefined;
  const host = ports.world.hostOf(facts.place);
  if (host === undefined || host.resourceVersion !== answer.object.metadata.resourceVersion) return undefined;
  const asked = request.verb === 'create' ? request.object : request.mergePatch;
  return isAsAsked(host, asked, { facts, translation: rules.translation }) ? host : undefined;
}

function remember(memory: Memory, request: Request, answer: Answer): Memory {
  if (request.verb !== 'get' || request.side !== 'host' || request.what !== 'service') return memory;
  if (answer.kind === 'notFound') return { ...memory, hostService: { known: true, service: undefined } };
  if (answer.kind !== 'ok') return memory;
  return { ...memory, hostService: { known: true, service: projectHostService(answer.object) } };
}
