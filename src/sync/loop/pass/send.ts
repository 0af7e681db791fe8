// Sends one request to its side and shows the answer to the window of the object, so that the next look sees it before the watch does.
import type { Answer } from '../../../cluster/answer.ts';
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { ResourceRef } from '../../../cluster/wire/scope.ts';
import type { Preconditions, StillWanted, Writer } from '../../../cluster/write/writer.ts';
import { type KubeObject, keyOf } from '../../../object/meta/object.ts';
import type { HostPlace } from '../../plan/placement.ts';

export type SentRequest =
  | { side: 'host' | 'virtual'; verb: 'create'; object: KubeObject }
  | { side: 'host' | 'virtual'; verb: 'patch'; place: HostPlace; mergePatch: object }
  | { side: 'host' | 'virtual'; verb: 'remove'; place: HostPlace; preconditions: Preconditions }
  | { side: 'host' | 'virtual'; verb: 'get'; place: HostPlace };

export interface SideWriters {
  virtualWriter: Writer;
  hostWriter: Writer;
}

export function send(
  request: SentRequest,
  resource: ResourceRef,
  { virtualWriter, hostWriter }: SideWriters,
  isWanted: StillWanted,
): Promise<Answer> {
  const writer = request.side === 'host' ? hostWriter : virtualWriter;
  switch (request.verb) {
    case 'create':
      return writer.create(resource, request.object, isWanted);
    case 'patch':
      return writer.patch(resource, request.place, request.mergePatch, isWanted);
    case 'remove':
      return writer.remove(resource, request.place, request.preconditions, isWanted);
    case 'get':
      return writer.get(resource, request.place);
    default:
      return request satisfies never;
  }
}

/** `seen` is the version that the window showed before the request. False when the answer is older than what the window has been shown. */
export function showAnswer(
  window: Pick<Window<Item>, 'remember' | 'forget'>,
  {
    request,
    answer,
    place,
    seen,
  }: { request: SentRequest; answer: Answer; place: HostPlace; seen: string | undefined },
): boolean {
  const key = keyOf(place.namespace, place.name);
  if (answer.kind === 'notFound') {
    // Only the version seen before the request is gone; another object of this name may exist since then.
    if (seen !== undefined) window.forget(key, seen);
  } else if (answer.kind === 'ok') {
    // An object with finalizers stays after a delete, and the answer has its deletionTimestamp; a Status means it is gone.
    const isGone = answer.object.kind === 'Status' || answer.object.metadata?.deletionTimestamp === undefined;
    if (request.verb === 'remove' && isGone) window.forget(key, request.preconditions.resourceVersion);
    else return window.remember(answer.object, seen);
  }
  return true;
}

/** Whether the answer to a create on the host shows that the namespace is going, and the owner Service with it. */
export function saysNamespaceGone(answer: Answer): boolean {
  return answer.kind === 'notFound' || (answer.kind === 'forbidden' && answer.namespaceTerminating);
}
