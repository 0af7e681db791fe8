// Decides how a pass goes on after an answer: continue, read again, or end. In: the memory of the pass, a request and its
// answer. Out: the new memory, from which decide.ts takes the next step. Pure.
import type { Answer } from '../../../cluster/answer.ts';
import { quotaExceeded } from '../../../cluster/wire/status-answer.ts';
import { keysIn, shownKeys } from '../backflow.ts';
import { joinAgreements } from '../keys/base.ts';
import { projectHostService, type SyncedKind } from '../kind.ts';
import { refusalCause } from '../refusal-cause.ts';
import type { Memory, MustRead, Outcome, PlannedRequest } from '../step.ts';

/** After more conflicts than this in one pass, another client writes constantly, and back-off works better than speed. */
const conflictLimit = 8;
/** A namespace that is missing or being deleted: no window shows when it is there. Content behind references waits as long. */
export const namespaceRetryMs = 5000;

export function afterAnswer(memory: Memory, request: PlannedRequest, answer: Answer, kind: SyncedKind): Memory {
  const after = goOnAfter(memory, request, answer, kind);
  if (request.verb !== 'get' || request.side !== 'host' || request.what !== 'service') return after;
  if (answer.kind === 'notFound') return { ...after, hostService: { known: true, service: undefined } };
  if (answer.kind !== 'ok') return after;
  return { ...after, hostService: { known: true, service: projectHostService(answer.object) } };
}

function goOnAfter(memory: Memory, request: PlannedRequest, answer: Answer, kind: SyncedKind): Memory {
  switch (answer.kind) {
    case 'ok': {
      const isBackFlow = request.side === 'virtual' && request.verb === 'patch';
      return {
        ...memory,
        mustRead: undefined,
        ...(isBackFlow && { agreed: joinAgreements(memory.agreed, request.agreed) }),
      };
    }
    case 'notFound':
      if (request.side !== 'host' || request.verb !== 'create') return { ...memory, mustRead: undefined };
      // A create answers 404 only when its namespace is missing.
      return ended(memory, {
        kind: 'waiting',
        reason: 'HostNamespaceMissing',
        message: `there is no host namespace "${request.object.metadata.namespace}" yet`,
        retryAfterMs: namespaceRetryMs,
      });
    case 'conflict':
    case 'alreadyExists': {
      const conflicts = memory.conflicts + 1;
      const refused = { ...memory, conflicts, mustRead: targetOf(request) };
      return conflicts > conflictLimit ? later(refused, { message: answer.message }) : refused;
    }
    case 'forbidden':
      if (answer.namespaceTerminating) {
        return ended(memory, {
          kind: 'waiting',
          reason: 'OwnerMissing',
          message: goingNamespace(targetOf(request).place.namespace),
          retryAfterMs: namespaceRetryMs,
        });
      }
      return refused(memory, request, {
        kind: 'refused',
        reason: 'Forbidden',
        message: forbiddenMessage(request, kind),
        detail: answer.message,
      });
    case 'refused':
      return refused(memory, request, {
        kind: 'refused',
        reason: 'HostRefused',
        message:
          answer.reason === quotaExceeded
            ? `a quota of the ${request.side} namespace is full`
            : `the ${request.side} API server rejected the write`,
        detail: answer.message,
        cause: refusalCause(answer.message, [targetOf(request).place.name]),
      });
    case 'throttled':
    case 'failed':
      return later(memory, { message: answer.message, retryAfterMs: answer.retryAfterMs });
    case 'gone':
    case 'unauthorized':
      return later(memory, { message: answer.message });
    case 'notSent':
      return later(memory, { message: answer.reason === 'noLease' ? 'nothing may be written now' : 'stopping' });
    default:
      return answer satisfies never;
  }
}

function targetOf({ side, ...request }: PlannedRequest): MustRead {
  if (request.verb !== 'create') return { side, place: request.place };
  const { namespace = '', name = '' } = request.object.metadata;
  return { side, place: { namespace, name } };
}

/** Several namespaces may be mapped, and one of them is going. `sync/report` finds the name in this sentence. */
function goingNamespace(namespace: string): string {
  return `the host namespace "${namespace}" is being deleted`;
}

function forbiddenMessage(request: PlannedRequest, { resource }: SyncedKind): string {
  const isOfService = request.verb === 'get' && request.side === 'host' && request.what === 'service';
  return forbiddenSentence(request, isOfService ? 'services' : resource.resource);
}

/** Names the right that is missing, in the verbs of RBAC; `sync/report` finds the right in this sentence. */
export function forbiddenSentence({ side, verb }: { side: string; verb: string }, plural: string): string {
  return `the ${side} cluster does not allow "${verb === 'remove' ? 'delete' : verb}" on ${plural}`;
}

function refused(memory: Memory, request: PlannedRequest, outcome: Refusal): Memory {
  if (request.side === 'virtual' && request.verb === 'patch') return backRefused(memory, request, outcome);
  const isRemoval = request.side === 'host' && request.verb === 'remove';
  return ended(memory, isRemoval ? { ...outcome, isRemoval } : outcome);
}

type Refusal = Extract<Outcome, { kind: 'refused' }>;

/** Each is a request of the pass. */
const mostSentAlone = 8;

/** A back-flow that the virtual side refuses must not hold up the writes to the host, nor one of its keys the others. */
function backRefused(
  memory: Memory,
  { back, alone }: Extract<PlannedRequest, { side: 'virtual'; verb: 'patch' }>,
  outcome: Refusal,
): Memory {
  const keys = keysIn(back);
  const isWorthParting = outcome.reason === 'HostRefused' && keys.length > 1 && keys.length <= mostSentAlone;
  if (memory.backAlone === undefined && isWorthParting) return { ...memory, mustRead: undefined, backAlone: [] };
  const refusedKeys = alone === undefined ? keys : [...(memory.backAlone ?? []), alone];
  const message =
    outcome.reason === 'HostRefused'
      ? `the host's change of ${shownKeys(refusedKeys)} stays on the host: ${outcome.message}`
      : outcome.message;
  // Objects whose copies are right are not counted among those that the cause keeps off the host.
  const { cause: _, ...said } = outcome;
  const backflowRefused = { ...said, message, isBackFlow: true as const };
  return { ...memory, mustRead: undefined, backflowRefused, ...(alone !== undefined && { backAlone: refusedKeys }) };
}

/** What the pass had to read is still unread: it keeps that, for the next one. */
function later(memory: Memory, end: Omit<Extract<Outcome, { kind: 'retry' }>, 'kind'>): Memory {
  return { ...memory, end: { kind: 'retry', ...end } };
}

function ended(memory: Memory, end: Outcome): Memory {
  return { ...memory, mustRead: undefined, end };
}
