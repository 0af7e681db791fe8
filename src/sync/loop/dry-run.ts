// Lists the writes that a dry run withholds for one key. The pass ends before its first write, so the later writes are found
// by planning on as if each write had succeeded. It never sends a request.

import type { Key } from '../../object/meta/object.ts';
import { applyMergePatch } from '../../object/patch/merge-patch.ts';
import type { Json } from '../../object/text/json.ts';
import { afterAnswer } from '../plan/after-answer.ts';
import { decide } from '../plan/decide.ts';
import { draftHost, type Translation } from '../plan/draft.ts';
import type { HostItem, VirtualItem } from '../plan/kind.ts';
import { isSamePlace } from '../plan/ownership.ts';
import { baseKey } from '../plan/reserved-keys.ts';
import type { Facts, HeldWrite, Outcome, PlannedRequest } from '../plan/step.ts';
import type { Difference } from '../world/ledger.ts';
import type { Patching } from './reconcile.ts';

/** Enough for a back-flow, the host copy and a few old copies in other namespaces. */
const writeLimit = 8;
/** Three addresses are enough to recognise an object. */
const namedAddresses = 3;

async function writesFrom(
  held: HeldWrite,
  seen: Facts,
  { translation, patching }: { translation: Translation; patching: Patching | undefined },
): Promise<PlannedRequest[]> {
  const writes: PlannedRequest[] = [];
  let { memory, request } = held;
  let facts = seen;
  while (request.verb !== 'get') {
    writes.push(request);
    if (writes.length === writeLimit) break;
    const after = afterWrite(facts, request, translation);
    if (after === undefined) break;
    const answer = { kind: 'ok', status: 200, object: { metadata: {} } } as const;
    memory = afterAnswer(memory, request, answer, translation.kind);
    facts = patching === undefined ? after : await patching.forward(after);
    const step = decide(facts, memory, translation);
    if (step.kind === 'done') break;
    request = step.request;
  }
  return writes;
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

interface Notebook {
  setDifferences(key: Key, differences: readonly Difference[]): void;
}

/** Records every withheld write of a pass, and replaces its outcome with a sentence that names all of them. */
export async function listWrites<T extends { outcome: Outcome; facts: Facts; held?: HeldWrite }>(
  key: Key,
  ended: T,
  on: { world: { rules: { translation: Translation } }; patching: Patching | undefined; ledger: Notebook },
): Promise<T> {
  if (ended.held === undefined) {
    on.ledger.setDifferences(key, []);
    return ended;
  }
  const { translation } = on.world.rules;
  const writes = await writesFrom(ended.held, ended.facts, { translation, patching: on.patching });
  const differences = writes.map((write) => differenceOf(write, translation));
  on.ledger.setDifferences(key, differences);
  return { ...ended, outcome: dryRunOutcome(differences) };
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
  const more = addresses.length > namedAddresses ? ` and ${addresses.length - namedAddresses} more` : '';
  return [`addresses ${named}${more}`];
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
