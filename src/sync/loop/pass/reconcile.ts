// Runs one pass over a key: looks at both sides, lets decide.ts choose the next step, sends the request, shows the answer to
// the windows, and repeats until the key is settled. It contains no rule of sync itself.
import type { Answer } from '../../../cluster/answer.ts';
import { type ResourceRef, servicesResource } from '../../../cluster/wire/scope.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import { afterAnswer } from '../../plan/decide/after-answer.ts';
import { decide } from '../../plan/decide/decide.ts';
import type { SyncedKind } from '../../plan/kind.ts';
import { isSamePlace } from '../../plan/ownership.ts';
import {
  type BackValues,
  type Facts,
  freshMemory,
  type HeldWrite,
  isHostWrite,
  type Memory,
  type Outcome,
  type PlannedRequest,
  type PlanStep,
} from '../../plan/step.ts';
import type { Circumstances } from '../../world/sources.ts';
import type { World } from '../../world/world.ts';
import { send, showAnswer } from './send.ts';
import type { StoredAsRequested } from './stored-as-requested.ts';

/** A pass needs more requests only through a bug, or when another client writes constantly; then back-off takes over. */
const requestLimit = 16;

/** Runs the patches of a pass. */
export interface Patching {
  /** Answers without a promise when no expression must run in the sandbox. */
  forward(facts: Facts): Facts | Promise<Facts>;
  back(facts: Facts, raw: BackValues): Promise<Facts>;
}

/** Everything that a pass uses; SyncPorts is it in the daemon. */
export interface ReconcilePorts {
  world: World;
  /** Undefined without patches and references. */
  readonly patching: Patching | undefined;
  virtualWriter: Writer;
  hostWriter: Writer;
  /** What passes that did not come to their end leave to the next one of their key. */
  readonly halfDone?: Map<Key, HalfDone>;
  /** The facts about a key that no window shows, for example whether its delete is withheld. */
  circumstances(key: Key): Circumstances;
  readonly storedAsRequested: StoredAsRequested;
  /** Puts another key into the queue. */
  wake(key: Key): void;
  /** Called before every write; returns an outcome to end the pass instead of writing. */
  mayWrite(facts: Facts, request: PlannedRequest): Outcome | undefined;
  /** Called after every write, with every answer. `isByRules`: the rules that wanted the write are in force still. */
  written(
    facts: Facts,
    request: PlannedRequest,
    end: { answer: Answer; isAsRequested: boolean; isByRules: boolean },
  ): void;
}

/** Without the agreement, the next pass would take our own half-done back-flow for an edit of the tenant. */
export type HalfDone = Pick<Memory, 'agreed' | 'mustRead'>;

export interface Ended {
  outcome: Outcome;
  facts: Facts;
  /** The write that mayWrite() did not allow. */
  held?: HeldWrite;
}

export async function reconcile(key: Key, ports: ReconcilePorts): Promise<Ended> {
  const { world, halfDone } = ports;
  const pass = { memory: { ...freshMemory(), ...halfDone?.get(key) } };
  const unseen = world.unseenOnHost(key);
  if (unseen !== undefined) pass.memory.mustRead = { side: 'host', place: unseen };
  const ended = await settle(key, pass, ports);
  const isHalfDone = ['retry', 'waiting', 'refused'].includes(ended.outcome.kind);
  const { agreed, mustRead } = pass.memory;
  if (isHalfDone && (agreed ?? mustRead) !== undefined) halfDone?.set(key, { agreed, mustRead });
  else halfDone?.delete(key);
  return ended;
}

async function settle(key: Key, pass: { memory: Memory }, ports: ReconcilePorts): Promise<Ended> {
  const { world, storedAsRequested } = ports;
  for (let requests = 0; requests < requestLimit; requests++) {
    // A reload may replace the rules while the write is under way; then the pass must look again.
    const rules = storedAsRequested.beginLook(key);
    const { facts, step } = await lookAndDecide(key, pass.memory, ports);
    // Patches take time, and nothing is decided by rules that were replaced meanwhile.
    if (world.rules !== rules) continue;
    if (step.kind === 'done') return { outcome: step.outcome, facts };
    const { request } = step;
    const instead = request.verb === 'get' ? undefined : ports.mayWrite(facts, request);
    if (instead !== undefined) return { outcome: instead, facts, held: { request, memory: pass.memory } };
    const answered = announceWrite(request, { facts, world, wake: ports.wake });
    const areInForce = () => world.rules === rules;
    const answer = await storedAsRequested.whileWriting(key, step, () =>
      send(request, resourceOf(request, world.rules.translation.kind), ports, areInForce),
    );
    const isBelieved = tellWindows(request, answer, { facts, world, wake: ports.wake });
    answered();
    // A write may wait for the write rate, or because the server asked for a pause.
    if (answer.kind === 'notSent' && !areInForce()) continue;
    pass.memory = afterAnswer(pass.memory, request, answer, world.rules.translation.kind);
    const host = storedAsRequested.hostAfter(step, answer, { facts, rules });
    if (request.verb !== 'get')
      ports.written(facts, request, { answer, isAsRequested: host !== undefined, isByRules: areInForce() });
    if (host !== undefined) return { outcome: { kind: 'inSync' }, facts: { ...facts, host } };
    // Either the answer is late or what the next look would see is wrong, and then whatever it decided would be in vain.
    if (!isBelieved && request.verb === 'get') pass.memory = { ...pass.memory, end: older(request.side) };
  }
  const facts = world.look(key, ports.circumstances(key));
  return { outcome: { kind: 'retry', message: `not settled after ${requestLimit} requests` }, facts };
}

/** Patches run between the look and the decision, because only they need another process. */
async function lookAndDecide(
  key: Key,
  memory: Memory,
  ports: ReconcilePorts,
): Promise<{ facts: Facts; step: PlanStep }> {
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

function resourceOf(request: PlannedRequest, { resource }: SyncedKind): ResourceRef {
  return request.verb === 'get' && request.side === 'host' && request.what === 'service' ? servicesResource : resource;
}

function older(side: 'host' | 'virtual'): Outcome {
  return { kind: 'retry', message: `the ${side} API server shows an older state than before` };
}

/** False when the answer is older than what a window has been shown. */
function tellWindows(
  request: PlannedRequest,
  answer: Answer,
  { facts, world, wake }: { facts: Facts; world: World; wake: (key: Key) => void },
): boolean {
  if (request.verb === 'get' && request.side === 'host' && request.what === 'service') return true;
  const place = request.verb === 'create' ? facts.place : request.place;
  if (place === undefined) return true;
  if (request.side === 'virtual') {
    const wasThere = world.windows.virtual.has(facts.key);
    const isBelieved = showAnswer(world.windows.virtual, {
      request,
      answer,
      place,
      seen: facts.virtual?.resourceVersion,
    });
    if (world.windows.virtual.has(facts.key) === wasThere) return isBelieved;
    for (const rival of world.noteVirtual(facts.key)) wake(rival);
    return isBelieved;
  }
  const seen = [facts.host, ...facts.strays].find((item) => item !== undefined && isSamePlace(item, place));
  const isBelieved = showAnswer(world.windows.host, { request, answer, place, seen: seen?.resourceVersion });
  if (world.hostOf(place)?.resourceVersion === seen?.resourceVersion) return isBelieved;
  for (const other of world.noteHost(keyOf(place.namespace, place.name), { isOwnWrite: true }))
    if (other !== facts.key) wake(other);
  return isBelieved;
}

/** Tells the world of a write behind a shared name before it is sent; returns what to call after the answer. */
function announceWrite(
  request: PlannedRequest,
  { facts, world, wake }: { facts: Facts; world: World; wake: (key: Key) => void },
): () => void {
  const { key, nameClash, place, servicePlace } = facts;
  if (!isHostWrite(request) || !nameClash || !place || !servicePlace) return () => {};
  const hostKey = keyOf(place.namespace, place.name);
  world.names.noteWrite(hostKey, { service: keyOf(servicePlace.namespace, servicePlace.name), copyOf: key });
  return () => {
    for (const other of world.noteHost(hostKey)) if (other !== key) wake(other);
  };
}
