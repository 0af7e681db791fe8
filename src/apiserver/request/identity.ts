// Who asks and what for: the questions that a tenant of this kit answers. The kit calls them and believes them.
import type { IncomingMessage } from 'node:http';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Target } from './target.ts';

export interface User {
  name: string;
  uid?: string;
  groups: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** Undefined = credentials were sent, or are wanted, and are not good: 401. */
export type Authenticate = (request: IncomingMessage) => User | undefined | Promise<User | undefined>;

export interface Attributes {
  user: User;
  target: Target;
}

export type Decision = { allowed: true } | { allowed: false; reason?: string };

export type Authorize = (attributes: Attributes) => Decision | Promise<Decision>;

/** What one caller may see of a kind. */
export interface Visibility {
  /** Judges the object as it is shown. */
  sees(object: KubeObject): boolean;
  /** Everything that is seen has one of these values in this index of the kind; a list then reads no other object. */
  index?: { field: string; values: readonly string[] };
  /** The view of this caller changed at this revision without a write: older versions and tokens are gone for the caller. */
  since?: number;
}
