// The interface of the writer, the only part of the program that changes a cluster. The writer keeps no order per key: a
// caller must await one write of an object before it starts the next write of that object.
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import type { ResourceRef } from '../wire/scope.ts';

export interface Preconditions {
  uid: string;
  resourceVersion?: string;
}

/** Asked until the write leaves: one that nobody wants any more answers `notSent`, and takes nothing of the write rate. */
export type StillWanted = () => boolean;

export interface Writer {
  /** Reads from the server, never from a cache; the write rate does not count reads. */
  get(ref: ResourceRef, place: { namespace: string; name: string }): Promise<Answer>;
  create(ref: ResourceRef, object: KubeObject, isWanted?: StillWanted): Promise<Answer>;
  /** Sends a JSON merge patch; the caller includes metadata.uid and metadata.resourceVersion. */
  patch(
    ref: ResourceRef,
    place: { namespace: string; name: string },
    mergePatch: object,
    isWanted?: StillWanted,
  ): Promise<Answer>;
  remove(
    ref: ResourceRef,
    place: { namespace: string; name: string },
    preconditions: Preconditions,
    isWanted?: StillWanted,
  ): Promise<Answer>;
  /** Sends no new request. Requests in flight may finish within `withinMs` and are aborted after that. */
  stop(withinMs: number): Promise<void>;
  readonly inFlight: number;
}
