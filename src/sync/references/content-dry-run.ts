// Lists the writes that a dry run withholds for one piece of content. The pass ends before its first write, so the later writes
// are found by planning on as if each write had succeeded. Names of objects only: the content may be secret. Pure.
import { keyOf } from '../../object/meta/object.ts';
import { isSamePlace } from '../plan/ownership.ts';
import type { Difference } from '../world/ledger.ts';
import { planContent } from './content-plan.ts';
import type { ContentFacts, ContentOutcome, ContentRequest, ContentStep } from './content-step.ts';
import { planCopyRemoval } from './copy-plan.ts';

export type ContentWrite = Exclude<ContentRequest, { verb: 'get' }>;

/** Enough for an import that gives way to a copy, and for copies that earlier mappings left. */
const writeLimit = 8;

export function contentWritesFrom(first: ContentWrite, seen: ContentFacts): ContentWrite[] {
  const writes: ContentWrite[] = [];
  let request: ContentRequest = first;
  let facts = seen;
  while (writes.length < writeLimit) {
    const next: [ContentFacts, ContentStep] = request.verb === 'get' ? afterRead(facts) : afterWrite(facts, request);
    if (request.verb !== 'get') writes.push(request);
    const [after, step] = next;
    if (step.kind === 'done') break;
    // A read on the host asks what became of a lost import; a dry run has no answer to go on with.
    if (step.request.verb === 'get' && (step.request.side === 'host' || after.virtual === undefined)) break;
    facts = after;
    request = step.request;
  }
  return writes;
}

/** The content itself is not listed, so an empty one stands in for it. */
function afterRead(facts: ContentFacts): [ContentFacts, ContentStep] {
  const after = facts.virtual === undefined ? facts : { ...facts, virtual: { ...facts.virtual, content: {} } };
  return [after, planContent(after)];
}

function afterWrite(facts: ContentFacts, request: ContentWrite): [ContentFacts, ContentStep] {
  const { copy, stray } = facts;
  if (request.verb === 'remove') {
    const after =
      request.side === 'virtual'
        ? { ...facts, virtual: undefined }
        : {
            ...facts,
            copy: copy !== undefined && isSamePlace(copy, request.place) ? undefined : copy,
            stray: stray !== undefined && isSamePlace(stray, request.place) ? undefined : stray,
          };
    return [after, planContent(after)];
  }
  // What was written is right now, so only old copies can be left.
  if (request.side === 'virtual') return [facts, planCopyRemoval(facts, 'imported')];
  const after = { ...facts, copy: undefined, isReferenced: false };
  return [after, planContent({ ...after, virtual: undefined, importable: undefined })];
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
  return { kind: 'waiting', message: `would ${sentences.join('; then ')}` };
}
