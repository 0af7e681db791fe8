// What every handler of this room works with: the store, the catalog, time, randomness and the tenant's hooks; and what one
// request knows about itself. No behaviour.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Store } from '../../store/store.ts';
import type { Dialect } from '../request/dialect.ts';
import type { User, Visibility } from '../request/identity.ts';
import type { Negotiated } from '../request/negotiate.ts';
import type { Target } from '../request/target.ts';
import type { Catalog } from './catalog.ts';
import type { Kind } from './kind.ts';

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

/** Hears of every request, those that are refused at the door and those for what is not there included. */
export interface Audit {
  /**
   * Before a request that has been let in is carried out. Throws a StatusFault to stop the request: what cannot be written
   * down is not done.
   */
  begins(entry: AuditEntry): void | Promise<void>;
  /** Once for each request: before its answer is sent, and for a watch when it is over. */
  ends(entry: AuditEntry, code: number, stream?: AuditedStream): void | Promise<void>;
}

export interface AuditEntry {
  /** The Audit-Id of the answer: the client's own, or a new one. */
  id: string;
  target: Target;
  method: string;
  /** Undefined = nobody was let in. */
  user: User | undefined;
  /** The address that the connection comes from. */
  source: string;
  userAgent: string;
}

/** What a watch was when it is over. */
export interface AuditedStream {
  bytes: number;
  durationMs: number;
}

/** Which keys hold an object with a value in a field; undefined = the index cannot tell, and every object must be looked at. */
export interface KeyIndexes {
  keys(kind: Kind, field: string, values: readonly string[], revision: number): Promise<string[] | undefined>;
  close(): void;
}

export interface Kit {
  store: Store;
  catalog: Catalog;
  dialect: Dialect;
  clock: Clock;
  log: Log;
  randomness: Randomness;
  admission: readonly Admission[];
  indexes: KeyIndexes;
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
