import { describe, expect, it } from 'vitest';
import type { Answer } from '../../../src/cluster/answer.ts';
import { endpointsKind } from '../../../src/sync/kinds/endpoints/endpoints-kind.ts';
import { afterAnswer } from '../../../src/sync/plan/decide/after-answer.ts';
import type { Agreement } from '../../../src/sync/plan/keys/base.ts';
import { freshMemory, type Memory, type PlannedRequest } from '../../../src/sync/plan/step.ts';
import { outcomeText, place } from '../facts.ts';

const object = { kind: 'Endpoints', metadata: { ...place, uid: 'h-1', resourceVersion: '21' } };
const agreed: Agreement = { over: undefined, labels: new Map(), annotations: new Map() };
const create: PlannedRequest = { side: 'host', verb: 'create', object, reason: '' };
const remove: PlannedRequest = { side: 'host', verb: 'remove', place, preconditions: { uid: 'h-1' }, reason: '' };
const read: PlannedRequest = { side: 'host', verb: 'get', what: 'object', place };
const readService: PlannedRequest = { side: 'host', verb: 'get', what: 'service', place };
const metadata = { uid: 'h-1', resourceVersion: '20' };
const patch: PlannedRequest = {
  side: 'host',
  verb: 'patch',
  place,
  mergePatch: { metadata },
  reason: '',
  touches: [],
  conflicts: 0,
};
const back = { labels: new Map(), annotations: new Map() };
const backFlow: PlannedRequest = { side: 'virtual', verb: 'patch', place, mergePatch: {}, reason: '', back, agreed };

const ok: Answer = { kind: 'ok', status: 200, object };
const unread: Memory = { ...freshMemory(), mustRead: { side: 'host', place } };
const message = 'said by the server';
const conflict: Answer = { kind: 'conflict', message };
const terminating: Answer = { kind: 'forbidden', message, namespaceTerminating: true };

/** Describes how the pass goes on. */
function goesOn({ end, mustRead, backflowRefused }: Memory): string {
  if (end !== undefined) return outcomeText(end);
  if (backflowRefused !== undefined) return `serves the host, then ${outcomeText(backflowRefused)}`;
  return mustRead === undefined ? 'decides' : `reads ${mustRead.side}`;
}

describe('after an answer the pass', () => {
  it.each<[goesOn: string, name: string, request: PlannedRequest, answer: Answer]>([
    ['decides', 'a write succeeded', patch, ok],
    ['decides', 'the object to change is gone', patch, { kind: 'notFound', message }],
    ['decides', 'the object to delete is gone', remove, { kind: 'notFound', message }],
    ['waiting HostNamespaceMissing', 'a create finds no namespace', create, { kind: 'notFound', message }],
    ['reads host', 'another client wrote to the copy first', patch, conflict],
    ['reads virtual', 'the tenant wrote first', backFlow, conflict],
    ['reads host', 'the copy exists already', create, { kind: 'alreadyExists', message }],
    ['refused Forbidden', 'a right is missing', patch, { kind: 'forbidden', message, namespaceTerminating: false }],
    ['waiting OwnerMissing', 'the namespace is being deleted', create, terminating],
    [
      'refused HostRefused',
      'the server rejects the object',
      patch,
      { kind: 'refused', status: 422, reason: '', message },
    ],
    [
      'serves the host, then refused Forbidden',
      'the virtual object may not be patched',
      backFlow,
      { kind: 'forbidden', message, namespaceTerminating: false },
    ],
    [
      'serves the host, then refused HostRefused',
      'the virtual server will never accept it',
      backFlow,
      { kind: 'refused', status: 422, reason: '', message },
    ],
    ['retry', 'the server asks for a pause', patch, { kind: 'throttled', retryAfterMs: 700, message }],
    ['retry', 'the connection broke', patch, { kind: 'failed', status: undefined, retryAfterMs: undefined, message }],
    ['retry', 'the credentials are refused', patch, { kind: 'unauthorized', message }],
    ['retry', 'the lease is lost', patch, { kind: 'notSent', reason: 'noLease' }],
  ])('%s when %s', (expected, _, request, answer) => {
    expect(goesOn(afterAnswer(freshMemory(), request, answer, endpointsKind))).toBe(expected);
  });

  it('keeps the pause that a server asks for', () => {
    const { end } = afterAnswer(freshMemory(), patch, { kind: 'throttled', retryAfterMs: 700, message }, endpointsKind);
    expect(end).toMatchObject({ kind: 'retry', retryAfterMs: 700 });
  });

  it('reads again after eight conflicts, and leaves the ninth to back-off', () => {
    let memory = freshMemory();
    const seen: string[] = [];
    for (let conflicts = 0; conflicts < 9; conflicts++) {
      memory = afterAnswer(memory, patch, conflict, endpointsKind);
      seen.push(goesOn(memory));
    }
    expect(seen).toEqual([...Array.from({ length: 8 }, () => 'reads host'), 'retry']);
  });

  it('decides again after the read that a conflict required', () => {
    const then = (answer: Answer): string => goesOn(afterAnswer(unread, read, answer, endpointsKind));
    expect([then(ok), then({ kind: 'notFound', message })]).toEqual(['decides', 'decides']);
  });

  it.each<[kept: boolean, name: string, request: PlannedRequest, answer: Answer]>([
    [true, 'the read fails', read, { kind: 'failed', status: 500, retryAfterMs: undefined, message }],
    [true, 'the read is to come later', read, { kind: 'throttled', retryAfterMs: 700, message }],
    [true, 'nobody has sent the read', read, { kind: 'notSent', reason: 'noLease' }],
    [true, 'the writes of the pass were refused too often', patch, conflict],
    [false, 'reads are not allowed', read, { kind: 'forbidden', message, namespaceTerminating: false }],
    [false, 'the object is read', read, ok],
  ])('keeps in mind that it must read (%s) when %s', (kept, _, request, answer) => {
    const memory = { ...unread, conflicts: 8 };
    expect(afterAnswer(memory, request, answer, endpointsKind).mustRead).toEqual(
      kept ? { side: 'host', place } : undefined,
    );
  });

  it.each<[name: string, request: PlannedRequest, answer: Answer, known: object]>([
    ['is known after a read', readService, ok, { known: true, service: { uid: 'h-1' } }],
    [
      'is known to be missing after a 404',
      readService,
      { kind: 'notFound', message },
      { known: true, service: undefined },
    ],
    ['stays unknown when the read fails', readService, conflict, { known: false }],
    ['stays unknown after any other read', read, ok, { known: false }],
  ])('the host Service %s', (_, request, answer, known) => {
    expect(afterAnswer(freshMemory(), request, answer, endpointsKind).hostService).toMatchObject(known);
  });

  it.each([
    [1, 'serves the host, then refused HostRefused'],
    [2, 'sends each alone'],
    [8, 'sends each alone'],
    [9, 'serves the host, then refused HostRefused'],
  ])('of %i keys that the virtual server refuses together: %s', (count, expected) => {
    const labels = new Map(Array.from({ length: count }, (_, at) => [`label-${at}`, 'x']));
    const request: PlannedRequest = { ...backFlow, back: { labels, annotations: new Map() } };
    const refused: Answer = { kind: 'refused', status: 422, reason: '', message };
    const memory = afterAnswer(freshMemory(), request, refused, endpointsKind);
    expect(memory.backAlone === undefined ? goesOn(memory) : 'sends each alone').toBe(expected);
  });

  it('remembers the agreement of a back-flow only after its write', () => {
    expect(afterAnswer(freshMemory(), backFlow, ok, endpointsKind).agreed).toEqual(agreed);
    expect(afterAnswer(freshMemory(), backFlow, conflict, endpointsKind).agreed).toBeUndefined();
    expect(afterAnswer(freshMemory(), patch, ok, endpointsKind).agreed).toBeUndefined();
  });
});
