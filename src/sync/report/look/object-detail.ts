// Everything about one object for a person who looks at it: both sides as Hostward sees them, what the next pass would write, the
// last write, and each patch that matches it. In: a running Sync and a key. Out: plain texts. The functions that decide are asked, so
// that the answer is what a pass would do. It must never change anything.
import { dump } from 'js-yaml';
import type { PatchEntry } from '../../../config/settings/settings.ts';
import type { Key } from '../../../object/meta/object.ts';
import { applyMergePatch } from '../../../object/patch/merge-patch.ts';
import { isJsonObject, type Json } from '../../../object/text/json.ts';
import { diffHunks } from '../../../object/text/line-diff.ts';
import { type LastWrite, shownObject } from '../../loop/pass/recent.ts';
import type { Sync } from '../../loop/sync.ts';
import { notTriedAfter } from '../../patch/set/failure.ts';
import { createPatchCounts } from '../../patch/set/patch-metrics.ts';
import { viewOf } from '../../patch/set/view.ts';
import { decide } from '../../plan/decide/decide.ts';
import { draftHost } from '../../plan/draft.ts';
import { type Facts, freshMemory, type PatchFailure, type PlannedRequest, type PlanStep } from '../../plan/step.ts';
import {
  leaderlessSentence,
  type ObjectStatus,
  patchedFacts,
  sentenceOf,
  standbySentence,
  statusOf,
} from '../object-status.ts';
import { seconds } from '../proven-times.ts';
import { wordsOf } from '../words.ts';

export interface DetailPatch {
  patch: number;
  path: string;
  expression?: string;
  reverseExpression?: string;
  /** What the value at its path means, where the patch has no expression. */
  meaning?: string;
  /** Values that its path matches in this object. */
  matches: number;
  failure?: PatchFailure;
  /** Why it was not tried, where an earlier patch ended the pass. */
  notTried?: string;
}

export interface ObjectDetail {
  status: ObjectStatus;
  /** YAML of what is kept of each side; undefined where the object is missing. */
  virtual?: string;
  host?: string;
  /** What the next pass does, in a sentence. */
  plan: string;
  /** Lines of a unified diff from the host object as it is to the host object as it will be. */
  diff?: string;
  /** With the lines of a unified diff of what the write touched, unless that was long. */
  lastWrite?: { request: string; secondsAgo: number; diff?: string };
  patches: DetailPatch[];
}

/** A text beyond this is no help to a person, and its difference would take too long for one turn. */
const longestText = 64 * 1024;
const mostLines = 1_000;

/** Undefined when neither side has an object of this name. */
export async function objectDetail(sync: Sync, key: Key): Promise<ObjectDetail | undefined> {
  const { world } = sync;
  const tried = new Set<number>();
  const note = (patch: number): void => void tried.add(patch);
  const none = createPatchCounts(undefined, []);
  const facts = await patchedFacts(sync, key, { ...none, evaluated: note, failed: note });
  const status = statusOf(sync, facts);
  if (status === undefined) return undefined;
  const [virtual, host] = [virtualSide(sync, facts), hostSide(sync, facts)];
  const step = asDecided(sync, key, decide(facts, freshMemory(), world.rules.translation));
  const diff = diffOf(step, { virtual, host });
  const last = sync.recent.lastWrite({ kind: world.rules.translation.kind.kind, key });
  return {
    status,
    ...(virtual && { virtual: yamlOf(virtual) }),
    ...(host && { host: yamlOf(host) }),
    plan: planSentence(step, sync.options),
    ...(diff !== undefined && diff !== '' && { diff }),
    ...(last && { lastWrite: lastWriteOf(last, sync.options.clock.now()) }),
    patches: patchesOf(sync, facts, tried),
  };
}

/** A pass that asks the host for a Service has decided with the answer; a page does not ask. */
function asDecided({ ledger }: Sync, key: Key, step: PlanStep): PlanStep {
  if (step.kind === 'done' || step.request.verb !== 'get') return step;
  const outcome = ledger.isDirty(key) ? undefined : ledger.outcomeOf(key);
  return outcome === undefined || outcome.kind === 'retry' ? step : { kind: 'done', outcome };
}

/** What is kept of the virtual object; its fields other than metadata are those that cross. */
function virtualSide({ world }: Sync, { virtual }: Facts): Json | undefined {
  if (virtual === undefined) return undefined;
  const { kind } = world.rules.translation;
  const fields = Object.entries(virtual).filter(([field]) => kind.payloadFields.includes(field));
  return shownObject(virtual, Object.fromEntries(fields)) as Json;
}

function hostSide({ world }: Sync, { host }: Facts): Json | undefined {
  return host && (shownObject(host, world.rules.translation.kind.payloadOf(host)) as Json);
}

function yamlOf(value: unknown): string {
  const text = dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
  return text.length <= longestText ? text : `# ${text.length} characters, too long to show\n`;
}

function planSentence(step: PlanStep, { isDryRun, standbyBehind, leaderless }: Sync['options']): string {
  const leader = standbyBehind?.();
  const why = leaderless?.();
  if (leader !== undefined || why !== undefined) {
    const isWrite = step.kind === 'request' && step.request.verb !== 'get';
    const would = isWrite ? `; if it led, it would send ${step.request.side} ${step.request.verb}` : '';
    return `${leader === undefined ? leaderlessSentence(why as string) : standbySentence(leader)}${would}`;
  }
  if (step.kind === 'done')
    return step.outcome.kind === 'inSync' ? 'nothing is to be written' : `nothing: ${sentenceOf(step.outcome)}`;
  const { request } = step;
  const because = 'reason' in request ? `: ${request.reason}` : '';
  return request.verb === 'get'
    ? `the next pass reads the ${'what' in request ? `${request.what} on the ${request.side}` : 'object'} first`
    : isDryRun
      ? `nothing is sent in a dry run; without it the next pass would send ${request.side} ${request.verb}${because}`
      : `the next pass sends ${request.side} ${request.verb}${because}`;
}

function diffOf(step: PlanStep, sides: Record<'virtual' | 'host', Json | undefined>): string | undefined {
  if (step.kind === 'done') return undefined;
  const now = sides[step.request.side];
  const after = afterwards(step.request, now);
  if (after === undefined) return undefined;
  const [before, then] = [textOf(now), textOf(after)];
  return before.split('\n').length > mostLines || then.split('\n').length > mostLines
    ? 'the difference is too long to show'
    : diffHunks(before, then);
}

/** The object after a request, null for none; undefined for a request that does not write it. */
function afterwards(request: PlannedRequest, now: Json | undefined): Json | null | undefined {
  if (request.verb === 'get') return undefined;
  if (request.verb === 'remove') return null;
  if (request.verb === 'create') return fieldsOf(request.object as unknown as Record<string, Json>);
  return applyMergePatch(now, fieldsOf(request.mergePatch as unknown as Record<string, Json>));
}

/** Both texts hold only what the write touched. */
function lastWriteOf({ request, atMs, body, before, isLong }: LastWrite, nowMs: number): ObjectDetail['lastWrite'] {
  const was: Json | undefined = before === undefined ? undefined : JSON.parse(before);
  const written: Record<string, Json> | undefined = body === undefined ? undefined : JSON.parse(body);
  const after = written && applyMergePatch(was ?? {}, fieldsOf(written));
  const diff = isLong ? '' : diffHunks(textOf(withoutEmpty(was)), textOf(withoutEmpty(after)));
  return { request, secondsAgo: seconds(nowMs - atMs), ...(diff !== '' && { diff }) };
}

/** A write that touches no metadata has none to show. */
function withoutEmpty(side: Json | undefined): Json | undefined {
  if (!isJsonObject(side)) return side;
  const { metadata, ...payload } = side;
  return isJsonObject(metadata) && Object.keys(metadata).length === 0 ? payload : side;
}

/** Without what says which object and which version of it is meant. */
function fieldsOf({ apiVersion: _, kind: __, metadata, ...payload }: Record<string, Json>): Json {
  const { uid: ___, resourceVersion: ____, ...shown } = metadata as Record<string, Json>;
  return { metadata: shown, ...payload };
}

function textOf(side: Json | null | undefined): string {
  return side === undefined || side === null ? '' : yamlOf(side);
}

/** Those whose path matches the translated object, and the one that failed. */
function patchesOf(
  { world }: Sync,
  { virtual, place, patchFailure, patchLapse }: Facts,
  tried: ReadonlySet<number>,
): DetailPatch[] {
  const { patcher, translation } = world.rules;
  if (patcher === undefined || virtual === undefined || place === undefined) return [];
  const draft = draftHost(virtual, place, translation);
  const view = viewOf(draft, draft.payload, translation.kind.protectedFields);
  const failure = patchFailure ?? patchLapse;
  return patcher.set.patches.flatMap(({ index, path, matching, entry, forward, reference, isLabels }) => {
    const matches = path.match(view, matching.forward).values.length;
    const own = failure?.patch === index ? failure : undefined;
    if (matches === 0 && own === undefined) return [];
    const runsForward = forward !== undefined || reference !== undefined || isLabels;
    const endedBy = runsForward && !tried.has(index) ? patchFailure?.patch : undefined;
    const { expression, reverseExpression } = entry;
    const meaning = meaningOf(entry);
    return {
      patch: index,
      path: entry.path,
      ...(expression !== undefined && { expression }),
      ...(reverseExpression !== undefined && { reverseExpression }),
      ...(meaning !== undefined && { meaning }),
      matches,
      ...(own && { failure: own }),
      ...(endedBy !== undefined && endedBy < index && { notTried: notTriedAfter(endedBy) }),
    };
  });
}

function meaningOf({ reference, labels }: PatchEntry): string | undefined {
  if (labels !== undefined) return 'label keys, which become those of the host';
  if (reference === undefined) return undefined;
  const { apiVersion, kind, naming, ...paths } = reference;
  const found = Object.entries(paths).map(([name, path]) => `${wordsOf(name)} ${path}`);
  const names = naming === undefined ? [] : [`${naming} names`];
  return `names of ${kind} (${apiVersion})${[...found, ...names].map((one) => `, ${one}`).join('')}`;
}
