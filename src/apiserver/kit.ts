// What every handler of this room works with: the store, the catalog, time, randomness and the tenant's hooks; and what one
// request knows about itself. No behaviour.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { KubeObject } from '../object/object.ts';
import type { Store } from '../store/store.ts';
import type { Catalog } from './catalog.ts';
import type { Dialect } from './dialect.ts';
import type { User, Visibility } from './identity.ts';
import type { Kind } from './kind.ts';
import type { Indexes } from './kind-index.ts';
import type { Negotiated } from './negotiate.ts';
import type { Target } from './target.ts';

export interface Randomness {
  uid(): string;
  /** What is appended to generateName: five characters that make no words. */
  nameSuffix(): string;
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

export const systemRandomness: Randomness = {
  uid: () => randomUUID(),
  nameSuffix: () => Array.from(randomBytes(5), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join(''),
};

/** Asked before a create, update or delete is carried out; refuses by throwing a StatusFault. */
export type Admission = (request: AdmissionRequest) => void | Promise<void>;

export interface AdmissionRequest {
  operation: 'create' | 'update' | 'delete';
  kind: Kind;
  namespace: string;
  name: string;
  subresource: string;
  object: KubeObject | undefined;
  old: KubeObject | undefined;
  user: User;
}

/** Hears of every request for a resource twice: before anything is done, and before its answer is sent. */
export interface Audit {
  /** Throws a StatusFault to stop the request: what cannot be written down is not done. */
  begins(entry: AuditEntry): void | Promise<void>;
  ends(entry: AuditEntry, code: number): void | Promise<void>;
}

export interface AuditEntry {
  target: Target;
  user: User;
}

export interface Kit {
  store: Store;
  catalog: Catalog;
  dialect: Dialect;
  clock: Clock;
  log: Log;
  randomness: Randomness;
  admission: readonly Admission[];
  indexes: Indexes;
  audit: Audit | undefined;
}

/** One request, once it is known what it is about. */
export interface Call {
  kit: Kit;
  kind: Kind;
  target: Target;
  user: User;
  /** Undefined = the caller sees every object. */
  visibility: Visibility | undefined;
  negotiated: Negotiated;
  /** Who writes, for managedFields: the fieldManager parameter or the beginning of the User-Agent. */
  fieldManager: string;
  warnings: string[];
}

/** What a verb came to; the representation is chosen when it is sent. */
export type Outcome =
  /** `once` is shown in place of the stored text, in this answer alone, and kept out of caches. */
  | { kind: 'stored'; code: number; text: string; revision: number; once?: KubeObject }
  | { kind: 'value'; code: number; value: object; holdsSecret?: boolean }
  /** JSON that is made while it is sent. */
  | { kind: 'stream'; code: number; parts: AsyncIterable<string> }
  /** JSON that is complete already. */
  | { kind: 'json'; code: number; json: string };
