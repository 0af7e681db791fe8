// The types that all verbs share: the Kit (store, catalog, clock, randomness, the tenant's hooks) and the Call (one request).
// Must never contain behaviour.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Status } from '../../object/meta/status.ts';
import type { Store } from '../../store/store.ts';
import type { Dialect } from '../request/dialect.ts';
import type { User, Visibility } from '../request/identity.ts';
import type { Negotiated } from '../request/negotiate.ts';
import type { Target } from '../request/target.ts';
import type { Catalog } from './catalog.ts';
import type { Kind, WrittenText } from './kind.ts';
import type { ObjectLimits } from './object-limits.ts';

export interface Randomness {
  uid(): string;
  /** Five random characters for generateName; without vowels, so that a suffix never spells a word. */
  nameSuffix(): string;
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

export const systemRandomness: Randomness = {
  uid: () => randomUUID(),
  nameSuffix: () => Array.from(randomBytes(5), (byte) => suffixAlphabet[byte % suffixAlphabet.length]).join(''),
};

/** Runs before a create, update or delete; refuses the write by throwing a StatusFault. */
export type Admission = (request: AdmissionRequest) => void | Promise<void>;

export interface AdmissionRequest {
  operation: 'create' | 'update' | 'delete';
  kind: Kind;
  namespace: string;
  name: string;
  /** The name in the URL; empty for a POST. */
  requestName: string;
  subresource: string;
  object: KubeObject | undefined;
  old: KubeObject | undefined;
  user: User;
}

/** Records every request, including refused requests and requests for missing objects. */
export interface Audit {
  /**
   * Runs after authorization and before the request is carried out. Throws a StatusFault to stop the request, so that no
   * request happens without an audit record.
   */
  begins(entry: AuditedRequest): void | Promise<void>;
  /** Runs when a watch, or a stream or session that a route passes on, begins to flow; `ends` has run before its first byte. */
  streamStarts?(entry: AuditedRequest): void | Promise<void>;
  streamEnds?(entry: AuditedRequest, end: PassedStream): void | Promise<void>;
  /** Runs once for each request, before the answer is sent. */
  ends(entry: AuditedRequest, code: number): void | Promise<void>;
}

export interface AuditedRequest {
  /** The Audit-Id of the answer: the client's own, or a new one. */
  id: string;
  target: Target;
  method: string;
  /** Undefined = authentication failed. */
  user: User | undefined;
  /** The user that the request runs as, when `user` impersonates another one. */
  impersonatedUser?: User;
  /** Remote address of the connection. */
  source: string;
  userAgent: string;
  /** What the tenant adds to the outcome, e.g. the id of what was made; never a secret. */
  note?: string;
  /** What the request made, changed or deleted: the first of them, see `mostWritten`, and how many there are. */
  written?: { first: WrittenText[]; count: number };
}

/** Size and end of a watch, or of a stream or session that was passed on. */
export interface PassedStream {
  /** Bytes from the client. */
  bytesIn: number;
  /** Bytes to the client. */
  bytesOut: number;
  reason: string;
}

/** Finds the keys of objects by a field value; undefined = the index has no answer, and the caller must read every object. */
export interface KeyIndexes {
  keys(kind: Kind, field: string, values: readonly string[], revision: number): Promise<string[] | undefined>;
  close(): void;
}

export interface Kit {
  store: Store;
  catalog: Catalog;
  dialect: Dialect;
  limits: ObjectLimits;
  clock: Clock;
  log: Log;
  randomness: Randomness;
  admission: readonly Admission[];
  indexes: KeyIndexes;
  /** For lists and watches, while they read the records that their answers begin with. */
  lists: { within<T>(caller: string, work: (taken: number) => Promise<T>): Promise<T> };
  /** Proves that this server made a continue token for this user; undefined = tokens are not sealed. */
  pageSeal?: ((user: User, text: string) => string) | undefined;
}

/** One request for a known kind. */
export interface Call {
  kit: Kit;
  kind: Kind;
  target: Target;
  user: User;
  /** Undefined = every object is visible. */
  visibility: Visibility | undefined;
  negotiated: Negotiated;
  /** Manager name for managedFields: the fieldManager parameter or the beginning of the User-Agent. */
  fieldManager: string;
  warnings: string[];
  /** Awaited after each wait: resolves when it is this caller's turn, for which the loop works from here on. Absent = nobody counts. */
  works?: (() => Promise<void> | undefined) | undefined;
  /** Why the sender's credential does not hold any more, asked when a body has come. */
  ended?: (() => Status | undefined) | undefined;
  /** Adds a sentence to the audit record of the request; absent where no request is recorded. */
  note?: (text: string) => void;
  /** Adds an object to the audit record of the request. */
  wrote?: (written: WrittenText) => void;
}

/** The result of a verb; sendOutcome() turns it into the negotiated representation. */
export type VerbOutcome =
  /** `once` replaces the stored text in this answer only, and the answer carries `Cache-Control: no-store`. */
  | { kind: 'stored'; code: number; text: string; revision: number; once?: KubeObject }
  | { kind: 'value'; code: number; value: object; holdsSecret?: boolean }
  /** JSON or YAML that is produced while it is sent. */
  | { kind: 'stream'; code: number; parts: AsyncIterable<string> }
  /** Complete JSON. */
  | { kind: 'json'; code: number; json: string };
