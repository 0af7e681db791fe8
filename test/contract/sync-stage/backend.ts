// The backend of the live sync suites: two API servers, a user for the daemon on each, and a record of that user's requests.
// Embedded and real servers both implement it.
import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { settle } from '../../virtual-clock.ts';
import type { ApiClient } from '../client.ts';

/** A right as in RBAC; without a namespace it holds in all namespaces. */
export interface Right {
  group: string;
  resources: readonly string[];
  verbs: readonly string[];
  namespace?: string;
}

/** One answered request of the daemon. */
export interface RecordedRequest {
  verb: string;
  resource: string;
  namespace: string;
  name: string;
  code: number;
}

export interface SyncServer {
  readonly url: string;
  readonly caPem: string;
  /** A client with all rights, for tests and rivals. */
  readonly admin: ApiClient;
  /** A client with the rights of the daemon's user. */
  readonly asDaemon: ApiClient;
  /** Kubeconfig of the daemon's user; `server` replaces the address, for example by an interferer. */
  kubeconfig(server?: { url: string; caPem: string }): string;
  /** Replaces the rights of the daemon's user. */
  grant(rights: readonly Right[]): Promise<void>;
  /** All requests of the daemon's user since the last forget(), in the order of their answers. */
  requests(): Promise<RecordedRequest[]>;
  forget(): Promise<void>;
  /** Stores an Endpoints without validation, as an older server might have done. */
  smuggle(object: KubeObject): Promise<void>;
}

export interface SyncBackend {
  readonly virtual: SyncServer;
  readonly host: SyncServer;
  /** Whether kube-controller-manager runs on both sides: it creates Endpoints and deletes owned objects and namespaces. */
  readonly hasControllers: boolean;
  /** Waits until the controllers have handled all changes so far. */
  controllersAtRest(): Promise<void>;
  stop(): Promise<void>;
}

export type Side = 'virtual' | 'host';
export const sides: readonly Side[] = ['virtual', 'host'];

/** The names used in the recording fixtures/sync/golden.json. */
export const virtualCluster = 'vc';
export const hostNamespace = 'vcluster-vc';

export const writeVerbs: readonly string[] = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** A longer wait means that something is broken, but where a test has far more objects than others. */
const patience = 15_000;

/** With many objects a real API server needs its time for each. */
export function patienceFor(objects: number): number {
  return patience + 100 * objects;
}

const betweenLooksMs = 4;
/** A wait becomes longer by no more than this part, and looks often at the beginning only. */
const shareOfWait = 0.1;
const mostBetweenLooksMs = 50;

/** Calls `look` repeatedly until it returns a value. For what is over in a moment, `isOften` keeps the looks close together. */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  patienceMs = patience,
  { isOften = false }: { isOften?: boolean } = {},
): Promise<T> {
  const startMs = performance.now();
  const endMs = startMs + patienceMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs) throw new Error(`waited ${patienceMs / 1000} s in vain: ${what}`, { cause: last });
    await settle(1);
    const part = isOften ? 0 : Math.min(mostBetweenLooksMs, shareOfWait * (performance.now() - startMs));
    await new Promise((resolve) => setTimeout(resolve, Math.max(betweenLooksMs, part)));
  }
}

/** Adds the fields that a server adds before it stores an object. */
export function storedForm(object: KubeObject): KubeObject {
  const metadata = {
    ...object.metadata,
    uid: randomUUID(),
    creationTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
  };
  return { ...object, apiVersion: 'v1', kind: 'Endpoints', metadata };
}
