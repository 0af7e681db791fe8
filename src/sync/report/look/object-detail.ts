// Everything about one object for a person who looks at it: both sides as Hostward sees them, what the next pass would write, the
// last write, and each patch that matches it. In: a running Sync and a key. Out: plain texts. The functions that decide are asked, so
// that the answer is what a pass would do. It must never change anything.
import { dump } from 'js-yaml';
import type { Key } from '../../../object/meta/object.ts';
import { applyMergePatch } from '../../../object/patch/merge-patch.ts';
import type { Json } from '../../../object/text/json.ts';
import { diffHunks } from '../../../object/text/line-diff.ts';
import type { Sync } from '../../loop/sync.ts';
import { notTriedAfter } from '../../patch/set/failure.ts';
import { createPatchCounts } from '../../patch/set/patch-metrics.ts';
import { viewOf } from '../../patch/set/view.ts';
import { decide } from '../../plan/decide/decide.ts';
import { draftHost } from '../../plan/draft.ts';
import type { Payload } from '../../plan/kind.ts';
import { type Facts, freshMemory, type PatchFailure, type PlannedRequest, type PlanStep } from '../../plan/step.ts';
import { type ObjectStatus, patchedFacts, sentenceOf, statusOf } from '../object-status.ts';
import { seconds } from '../proven-times.ts';

export interface DetailPatch {
  patch: number;
  path: string;
  expression?: string;
  reverseExpression?: string;
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
  lastWrite?: { request: string; secondsAgo: number; lines: string };
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
  const step = decide(facts, freshMemory(), world.rules.translation);
  const diff = diffOf(step, host);
  const last = sync.recent.lastWrite({ kind: world.rules.translation.kind.kind, key });
  return {
    status,
    ...(virtual && { virtual: yamlOf(virtual) }),
    ...(host && { host: yamlOf(host) }),
    plan: planSentence(step, sync.options),
    ...(diff !== undefined && diff !== '' && { diff }),
    ...(last && {
      lastWrite: {
        request: last.request,
        secondsAgo: seconds(sync.options.clock.now() - last.atMs),
        lines: last.body === undefined ? '' : writtenLines(JSON.parse(last.body)),
      },
    }),
    patches: patchesOf(sync, facts, tried),
  };
}

/** What is kept of the virtual object; its fields other than metadata are those that cross. */
function virtualSide({ world }: Sync, { virtual }: Facts): Json | undefined {
  if (virtual === undefined) return undefined;
  const { kind } = world.rules.translation;
  const fields = Object.entries(virtual).filter(([field]) => kind.payloadFields.includes(field));
  return sideOf(virtual, Object.fromEntries(fields));
}

function hostSide({ world }: Sync, { host }: Facts): Json | undefined {
  return host && sideOf(host, world.rules.translation.kind.payloadOf(host));
}

function sideOf(
  {
    namespace,
    name,
    labels = {},
    annotations = {},
  }: { namespace: string; name: string; labels?: Record<string, string>; annotations?: Record<string, string> },
  payload: Payload,
): Json {
  return { metadata: { namespace, name, labels, annotations }, ...(payload as Record<string, Json>) };
}

function yamlOf(value: unknown): string {
  const text = dump(value, { lineWidth: -1, noRefs: true, seqNoIndent: true });
  return text.length <= longestText ? text : `# ${text.length} characters, too long to show\n`;
}

function planSentence(step: PlanStep, { isDryRun }: Sync['options']): string {
  if (step.kind === 'done')
    return step.outcome.kind === 'inSync' ? 'nothing is to be written' : `nothing: ${sentenceOf(step.outcome)}`;
  const { request } = step;
  const why = 'reason' in request ? `: ${request.reason}` : '';
  return request.verb === 'get'
    ? 'the next pass reads the object again'
    : isDryRun
      ? `nothing is sent in a dry run; without it the next pass would send ${request.side} ${request.verb}${why}`
      : `the next pass sends ${request.side} ${request.verb}${why}`;
}

function diffOf(step: PlanStep, host: Json | undefined): string | undefined {
  if (step.kind === 'done') return undefined;
  const after = afterwards(step.request, host);
  if (after === undefined) return undefined;
  const [before, then] = [host === undefined ? '' : yamlOf(host), after === null ? '' : yamlOf(after)];
  return before.split('\n').length > mostLines || then.split('\n').length > mostLines
    ? 'the difference is too long to show'
    : diffHunks(before, then);
}

/** The host object after a request, null for none; undefined for a request that does not write it. */
function afterwards(request: PlannedRequest, host: Json | undefined): Json | null | undefined {
  if (request.side !== 'host' || request.verb === 'get') return undefined;
  if (request.verb === 'remove') return null;
  if (request.verb === 'create') {
    const { metadata, apiVersion: _, kind: __, ...payload } = request.object as unknown as Record<string, Json>;
    return { metadata: metadata as Json, ...payload };
  }
  const { uid: _, resourceVersion: __, ...metadata } = request.mergePatch.metadata;
  return applyMergePatch(host, { ...request.mergePatch, metadata } as unknown as Json);
}

/** The members that a body sets, and those that it removes. */
function writtenLines(body: Json, path = ''): string {
  if (body === null) return `- ${path}\n`;
  if (path === 'metadata.uid' || path === 'metadata.resourceVersion') return '';
  if (typeof body !== 'object') return `+ ${path}: ${JSON.stringify(body)}\n`;
  if (Array.isArray(body))
    return [`${path}:`, ...yamlOf(body).trimEnd().split('\n')].map((line) => `+ ${line}\n`).join('');
  return Object.entries(body)
    .map(([name, value]) => writtenLines(value as Json, memberPath(path, name)))
    .join('');
}

function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_]\w*$/.test(name)) return `${path}["${name}"]`;
  return path === '' ? name : `${path}.${name}`;
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
    return {
      patch: index,
      path: entry.path,
      ...(expression !== undefined && { expression }),
      ...(reverseExpression !== undefined && { reverseExpression }),
      matches,
      ...(own && { failure: own }),
      ...(endedBy !== undefined && endedBy < index && { notTried: notTriedAfter(endedBy) }),
    };
  });
}
