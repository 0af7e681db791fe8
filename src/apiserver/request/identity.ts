// Who asks and what for: the two questions that a tenant of this kit answers. The kit calls them and believes them.
import type { IncomingMessage } from 'node:http';
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
