// What the live sync suites stand on: two API servers, a user of the daemon on each, and a record of what that user did.
// The embedded servers and real ones both come in this form.
import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/object/meta/object.ts';
import { settle } from '../virtual-clock.ts';
import type { ApiClient } from './client.ts';

/** As in RBAC; no namespace means everywhere. */
export interface Right {
  group: string;
  resources: readonly string[];
  verbs: readonly string[];
  namespace?: string;
}

/** One answered request of the daemon. */
export interface Asked {
  verb: string;
  resource: string;
  namespace: string;
  name: string;
  code: number;
}

export interface SyncServer {
  readonly url: string;
  readonly caPem: string;
  /** May do everything; what tests and rivals use. */
  readonly admin: ApiClient;
  /** With the rights of the daemon's user. */
  readonly asDaemon: ApiClient;
  /** Kubeconfig of the daemon's user; `server` stands in for the address, for tests that put something in between. */
  kubeconfig(server?: { url: string; caPem: string }): string;
  /** Exactly these rights, from now on. */
  grant(rights: readonly Right[]): Promise<void>;
  /** Everything the daemon's user asked since the last call of forget(), in the order of the answers. */
  asked(): Promise<Asked[]>;
  forget(): Promise<void>;
  /** Stores an Endpoints as an older server might have: nothing is checked. */
  smuggle(object: KubeObject): Promise<void>;
}

export interface SyncBackend {
  readonly virtual: SyncServer;
  readonly host: SyncServer;
  /** kube-controller-manager runs on both sides: Services get their Endpoints, owned objects and namespaces go. */
  readonly hasControllers: boolean;
  /** Until the controllers have done what followed from everything so far; at once where there are none. */
  controllersAtRest(): Promise<void>;
  stop(): Promise<void>;
}

export type Side = 'virtual' | 'host';
export const sides: readonly Side[] = ['virtual', 'host'];

/** The names of the recording in fixtures/sync/golden.json. */
export const virtualCluster = 'vc';
export const hostNamespace = 'vcluster-vc';

export const writeVerbs: readonly string[] = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** Nothing that is waited for takes longer, unless something is broken. */
const patienceMs = 15_000;
const betweenLooksMs = 4;

/** Looks again and again until there is something to see. */
export async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const endMs = performance.now() + patienceMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined) return seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs) throw new Error(`waited ${patienceMs / 1000} s in vain: ${what}`, { cause: last });
    await settle(1);
    await new Promise((resolve) => setTimeout(resolve, betweenLooksMs));
  }
}

/** What a server would have added before it stored the object. */
export function storedForm(object: KubeObject): KubeObject {
  const metadata = {
    ...object.metadata,
    uid: randomUUID(),
    creationTimestamp: new Date().toISOString().replace(/\.\d+/, ''),
  };
  return { ...object, apiVersion: 'v1', kind: 'Endpoints', metadata };
}
