// Lists the writes that a dry run withholds for one key. The pass ends before its first write, so the later writes are found
// by planning on as if each write had succeeded. It never sends a request.

import type { Key } from '../../../object/meta/object.ts';
import { applyMergePatch } from '../../../object/patch/merge-patch.ts';
import { andMore } from '../../../object/text/in-words.ts';
import type { Json } from '../../../object/text/json.ts';
import { afterAnswer } from '../../plan/decide/after-answer.ts';
import { decide } from '../../plan/decide/decide.ts';
import { handsOff } from '../../plan/decide/removal.ts';
import { draftHost, type Translation } from '../../plan/draft.ts';
import { baseKey, markerLabel } from '../../plan/keys/reserved-keys.ts';
import type { HostItem, VirtualItem } from '../../plan/kind.ts';
import { isSamePlace } from '../../plan/ownership.ts';
import {
  ask,
  done,
  type Facts,
  freshMemory,
  type HeldWrite,
  type Memory,
  type Outcome,
  type PlannedRequest,
  type PlanStep,
} from '../../plan/step.ts';
import type { Difference } from '../../world/ledger.ts';
import type { Patching } from './reconcile.ts';

/** Enough for a back-flow and the host copy; each old copy in another namespace is one more. */
const ownWrites = 8;
/** Three addresses are enough to recognise an object. */
const namedAddresses = 3;

interface Planner {
  translation: Translation;
  patching: Patching | undefined;
}

async function writesOf({ outcome, facts: seen, held }: DryEnd, planner: Planner): Promise<PlannedRequest[]> {
  const writes: PlannedRequest[] = [];
  let step: PlanStep = held === undefined ? done(outcome) : ask(held.request);
  let memory = held?.memory ?? freshMemory();
  let facts = seen;
  while (writes.length < ownWrites + seen.strays.length) {
    const next = afterStep(step, facts, planner.translation);
    if (step.kind === 'request' && step.request.verb !== 'get') {
      writes.push(step.request);
      const answer = { kind: 'ok', status: 200, object: { metadata: {} } } as const;
      memory = afterAnswer(memory, step.request, answer, planner.translation.kind);
    }
    if (next === undefined) break;
    facts = planner.patching === undefined ? next : await planner.patching.forward(next);
    step = decide(facts, withHostService(memory), planner.translation);
  }
  return writes;
}

/** The list never sends a request. Without an answer it assumes that no Service of the host is at a freed place. */
function withHostService(memory: Memory): Memory {
  return memory.hostService.known ? memory : { ...memory, hostService: { known: true, service: undefined } };
}

function afterStep(step: PlanStep, facts: Facts, translation: Translation): Facts | undefined {
  if (step.kind === 'request') return afterWrite(facts, step.request, translation);
  return isFreedByOther(step.outcome, facts, translation) ? { ...facts, host: undefined } : undefined;
}

/** The pass of another key would remove its old copy from this place, and this key would then have its copy there. */
function isFreedByOther(outcome: Outcome, { host }: Facts, { placement, kind }: Translation): boolean {
  if (outcome.kind !== 'waiting' || outcome.reason !== 'HostNameBusy' || host === undefined) return false;
  return host.labels?.[markerLabel] === placement.virtualCluster && handsOff(host, undefined, kind) === undefined;
}

/** The facts after a successful write; undefined when no other write can follow. */
function afterWrite(facts: Facts, request: PlannedRequest, translation: Translation): Facts | undefined {
  const fresh = { ...facts, reversed: undefined };
  if (request.verb === 'get') return undefined;
  if (request.verb === 'remove') {
    const strays = facts.strays.filter((stray) => !isSamePlace(stray, request.place));
    const isHost = facts.host !== undefined && isSamePlace(facts.host, request.place);
    return { ...fresh, strays, host: isHost ? undefined : facts.host };
  }
  if (request.side === 'virtual') {
    if (facts.virtual === undefined || facts.place === undefined) return undefined;
    const { labels, annotations } = facts.virtual;
    const changed = applyMergePatch({ metadata: { labels, annotations } } as Json, request.mergePatch as Json);
    const { metadata } = changed as unknown as { metadata: Pick<VirtualItem, 'labels' | 'annotations'> };
    const virtual = { ...facts.virtual, labels: metadata.labels ?? {}, annotations: metadata.annotations ?? {} };
    return { ...fresh, virtual, draft: draftHost(virtual, facts.place, translation) };
  }
  if (facts.strays.length === 0) return undefined;
  return { ...fresh, host: hostAfter(facts.host, request, translation) };
}

function hostAfter(
  host: HostItem | undefined,
  request: Extract<PlannedRequest, { side: 'host'; verb: 'create' | 'patch' }>,
  { kind }: Translation,
): HostItem {
  if (request.verb === 'create') return kind.projectHost(request.object);
  const { metadata, ...payload } = request.mergePatch;
  return applyMergePatch(
    host as unknown as Json,
    { ...metadata, ...payload } as unknown as Json,
  ) as unknown as HostItem;
}

/** How a dry pass ended; `held` is the write that it did not send. */
interface DryEnd {
  outcome: Outcome;
  facts: Facts;
  held?: HeldWrite;
}

interface Notebook {
  setDifferences(key: Key, differences: readonly Difference[]): void;
}

/** Records every withheld write of a pass, and replaces its outcome with a sentence that names all of them. */
export async function listWrites<T extends DryEnd>(
  key: Key,
  ended: T,
  on: { world: { rules: { translation: Translation } }; patching: Patching | undefined; ledger: Notebook },
): Promise<T> {
  const { translation } = on.world.rules;
  const writes = await writesOf(ended, { translation, patching: on.patching });
  const differences = writes.map((write) => differenceOf(write, translation));
  on.ledger.setDifferences(key, differences);
  return writes.length === 0 ? ended : { ...ended, outcome: dryRunOutcome(differences) };
}

export function differenceOf(request: PlannedRequest, { kind }: Translation): Difference {
  const reason = request.verb === 'get' ? '' : request.reason;
  return { request: `${request.side} ${request.verb}`, reason, touches: touchesOf(request, kind) };
}

function touchesOf(request: PlannedRequest, kind: Translation['kind']): string[] {
  if (request.verb === 'get' || request.verb === 'remove') return [];
  if (request.side === 'virtual') {
    const { labels, annotations } = request.back;
    return [
      ...[...labels.keys()].map((key) => `label ${key}`),
      ...[...annotations.keys()].map((key) => `annotation ${key}`),
    ];
  }
  const payload = request.verb === 'create' ? request.object : request.mergePatch;
  const touches = request.verb === 'create' ? [] : request.touches.filter((one) => one !== `annotation ${baseKey}`);
  return [...touches, ...addressesIn(payload, kind)];
}

function addressesIn(payload: object, kind: Translation['kind']): string[] {
  const addresses = [...kind.addressesOf(payload as Record<string, unknown>)];
  if (addresses.length === 0) return [];
  const named = addresses.slice(0, namedAddresses).join(' ');
  return [`addresses ${named}${andMore(addresses.length - namedAddresses)}`];
}

/** The outcome of a dry-run pass: one sentence that names every write. */
export function dryRunOutcome(differences: readonly Difference[]): Outcome {
  const sentences = differences.map(({ request, reason, touches }) => {
    const [side, verb] = request.split(' ');
    const object = side === 'virtual' ? 'the virtual object' : 'the host copy';
    return `${verb} ${object}: ${reason}${touches.length > 0 ? ` (${touches.join(', ')})` : ''}`;
  });
  return { kind: 'left', reason: 'DryRun', message: `would ${sentences.join('; then ')}` };
}
