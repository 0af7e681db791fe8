// Remembers what one pass over a piece of content has learned, and decides what an answer means for the rest of the pass. Pure.
// Server messages are not passed on: a server that refuses a Secret may quote it.
import type { Answer } from '../../../cluster/answer.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { forbiddenSentence, namespaceRetryMs } from '../../plan/decide/after-answer.ts';
import type { MustRead } from '../../plan/step.ts';
import {
  type HostContent,
  projectHostContent,
  projectImportable,
  readVirtualContent,
  type VirtualContent,
} from './content-kind.ts';
import type { ContentFacts, ContentOutcome, ContentRequest } from './content-step.ts';

export interface PassMemory {
  /** The host's answer about the object that an import has lost, and the mark of that object. */
  lost: ContentFacts['lost'];
  lostMark: string | undefined;
  mustRead: MustRead | undefined;
  /** The object at the place of the copy when it lacks the label that the window selects by. */
  unmarked: HostContent | undefined;
  /** The virtual object with its content, read for a write. */
  read: VirtualContent | undefined;
  end: ContentOutcome | undefined;
}

export function freshPass(): PassMemory {
  return {
    lost: 'unknown',
    lostMark: undefined,
    mustRead: undefined,
    unmarked: undefined,
    read: undefined,
    end: undefined,
  };
}

export function afterContentAnswer(
  memory: PassMemory,
  { request, answer, facts }: { request: ContentRequest; answer: Answer; facts: ContentFacts },
): PassMemory {
  const end = (outcome: ContentOutcome): PassMemory => ({ ...memory, end: outcome });
  switch (answer.kind) {
    case 'ok':
      // The window shows what was written, and no longer what was removed.
      if (request.side === 'host' && request.verb !== 'get') return { ...memory, read: undefined, unmarked: undefined };
      if (request.verb !== 'get') return { ...memory, read: undefined };
      if (request.side === 'virtual') return { ...memory, read: readVirtualContent(answer.object) };
      return { ...memory, ...lostBy(answer.object, facts) };
    case 'notFound':
      if (request.verb === 'get' && request.side === 'virtual') return { ...memory, read: undefined };
      if (request.verb === 'get') return { ...memory, ...lostBy(undefined, facts) };
      if (request.verb !== 'create') return { ...memory, unmarked: undefined };
      return end(namespaceMissing(request.side, 'its namespace does not exist'));
    case 'conflict':
    case 'alreadyExists':
      return { ...memory, mustRead: { side: request.side, place: request.place }, read: undefined };
    case 'forbidden':
      if (answer.namespaceTerminating) return end(namespaceMissing(request.side, 'the namespace is being deleted'));
      return end({
        kind: 'refused',
        reason: 'Forbidden',
        message: forbiddenSentence(request, facts.kind.resource.resource),
      });
    case 'refused':
      return end({
        kind: 'refused',
        reason: 'HostRefused',
        message: `The ${request.side} API server does not accept the copy (${answer.status} ${answer.reason})`,
      });
    case 'throttled':
    case 'failed':
      return end({ kind: 'retry', retryAfterMs: answer.retryAfterMs });
    case 'gone':
    case 'unauthorized':
    case 'notSent':
      return end({ kind: 'retry' });
    default:
      return answer satisfies never;
  }
}

/** After a conflict the object was read, because its window may be late, or may not show it for lack of its label. */
export function afterReadAgain(
  memory: PassMemory,
  { answer, isBelieved, isCopy }: { answer: Answer; isBelieved: boolean; isCopy: boolean },
): PassMemory {
  switch (answer.kind) {
    case 'throttled':
    case 'failed':
      return { ...memory, end: { kind: 'retry', retryAfterMs: answer.retryAfterMs } };
    case 'gone':
    case 'unauthorized':
    case 'notSent':
      return { ...memory, end: { kind: 'retry' } };
    default: {
      const read = { ...memory, mustRead: undefined };
      // The window may have to list again, and whatever is decided before that would be in vain.
      if (!isBelieved) return { ...read, end: { kind: 'retry' } };
      return { ...read, unmarked: isCopy && answer.kind === 'ok' ? projectHostContent(answer.object) : undefined };
    }
  }
}

export function contested(retryAfterMs: number): ContentOutcome {
  return { kind: 'waiting', reason: 'Contested', message: 'the host keeps changing the copy', retryAfterMs };
}

function namespaceMissing(side: ContentRequest['side'], message: string): ContentOutcome {
  const reason = side === 'host' ? 'HostNamespaceMissing' : 'NamespaceMissing';
  return { kind: 'waiting', reason, message, retryAfterMs: namespaceRetryMs };
}

/** With the label the window is going to show the host object; without it the import has to go. */
function lostBy(
  object: KubeObject | undefined,
  { virtual, placement }: ContentFacts,
): Pick<PassMemory, 'lost' | 'lostMark'> {
  const lostMark = virtual?.importedFrom;
  if (object === undefined || object.metadata.uid !== lostMark) return { lost: 'gone', lostMark };
  const isImportable = projectImportable(object, placement.virtualCluster) !== undefined;
  return { lost: isImportable ? 'there' : 'unlabelled', lostMark };
}
