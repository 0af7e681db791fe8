// Lists the writes that a dry run withholds for one piece of content. The pass ends before its first write, so the later writes
// are found by planning on as if each write had succeeded. Names of objects only: the content may be secret. Pure.
import { keyOf } from '../../../object/meta/object.ts';
import { isSamePlace, judgeOwnership } from '../../plan/ownership.ts';
import type { Difference } from '../../world/ledger.ts';
import { planContent } from './content-plan.ts';
import type { ContentFacts, ContentOutcome, ContentRequest, ContentStep } from './content-step.ts';
import { holdOf, isOwnCopy } from './own-copy.ts';

export type ContentWrite = Exclude<ContentRequest, { verb: 'get' }>;

/** Enough for an import that gives way to a copy, reads included; each copy that an earlier mapping left is one more. */
const ownSteps = 8;

export function contentWritesFrom(first: ContentStep, seen: ContentFacts): ContentWrite[] {
  const writes: ContentWrite[] = [];
  let step = first;
  let facts = seen;
  for (let steps = ownSteps + seen.strays.length; steps > 0; steps--) {
    if (step.kind === 'request' && step.request.verb !== 'get') writes.push(step.request);
    const after = afterStep(step, facts);
    if (after === undefined) break;
    facts = after;
    step = planContent(facts);
  }
  return writes;
}

/** The facts after a step; undefined when no further step can follow. */
function afterStep(step: ContentStep, facts: ContentFacts): ContentFacts | undefined {
  if (step.kind === 'done') return isFreedByOther(facts) ? { ...facts, copy: undefined } : undefined;
  if (step.request.verb !== 'get') return afterWrite(facts, step.request);
  // A read on the host asks what became of a lost import; a dry run has no answer to go on with. The content of the virtual
  // object is not listed, so an empty one takes its place.
  if (step.request.side === 'host' || facts.virtual === undefined) return undefined;
  return { ...facts, virtual: { ...facts.virtual, content: {} } };
}

/** The pass of another key would remove its old copy from this place, and this key would then have its copy there. */
function isFreedByOther({ copy, key, kind, placement }: ContentFacts): boolean {
  if (copy === undefined || copy.isDeleting || holdOf(copy) !== undefined) return false;
  return judgeOwnership(copy, key, placement).kind !== 'ours' && isOwnCopy(copy, kind, placement);
}

function afterWrite(facts: ContentFacts, request: ContentWrite): ContentFacts {
  const { copy } = facts;
  if (request.verb === 'remove' && request.side === 'virtual') return { ...facts, virtual: undefined };
  if (request.verb === 'remove') {
    const strays = facts.strays.filter((stray) => !isSamePlace(stray, request.place));
    return { ...facts, strays, copy: copy !== undefined && isSamePlace(copy, request.place) ? undefined : copy };
  }
  // What was written is right now, so only old copies can be left. After an import one may be at the right place too.
  const written = request.side === 'host' ? { ...facts, copy: undefined } : facts;
  return { ...written, isReferenced: false, virtual: undefined, importable: undefined };
}

export function contentDifference(request: ContentWrite, kind: string): Difference {
  const place = `${kind} ${keyOf(request.place.namespace, request.place.name)}`;
  const members = request.verb === 'patch' ? Object.keys(request.mergePatch).filter((one) => one !== 'metadata') : [];
  return { request: `${request.side} ${request.verb}`, reason: 'references', touches: [place, ...members] };
}

export function dryRunOutcome(differences: readonly Difference[]): ContentOutcome {
  const sentences = differences.map(({ request, touches }) => {
    const [side, verb] = request.split(' ');
    return `${verb} ${touches[0]} ${side === 'virtual' ? 'in the virtual cluster' : 'on the host'}`;
  });
  return { kind: 'waiting', reason: 'DryRun', message: `would ${sentences.join('; then ')}` };
}
