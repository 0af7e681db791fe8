// The tenant's hooks for authentication, authorization and visibility. The kit calls these hooks and trusts their answers.
import type { IncomingMessage } from 'node:http';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Target } from './target.ts';

export interface User {
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** Undefined = the credentials are wrong, or required and missing: the kit answers 401. */
export type Authenticate = (request: IncomingMessage) => User | undefined | Promise<User | undefined>;

/** The token in a header Authorization. */
export function bearerIn(authorization: string): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
}

export interface Attributes {
  user: User;
  target: Target;
}

/** The reason of a refusal is in the 403; a review shows both reasons. */
export type Decision = { allowed: boolean; reason?: string };

export type Authorize = (attributes: Attributes) => Decision | Promise<Decision>;

/** The objects of one kind that one caller may see. */
export interface Visibility {
  /** Receives the object without its hidden fields. Absent = the caller sees all objects. */
  sees?: (object: KubeObject) => boolean;
  /** Every visible object has one of these values in this index of the kind, so a list reads only objects with these values. */
  index?: { field: string; values: readonly string[] };
  /** The caller's view changed at this revision without a write: older resourceVersions and continue tokens answer 410. */
  since?: number;
}
