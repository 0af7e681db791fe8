// Authenticates by client certificate or token. Authorizes by roles and bindings, or in the open mode: administrators have every
// right, known users the rights of their own rules, and anonymous users may read only health and version.
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type AccessRule, covers, mastersGroup, type Reviewer } from '../../apiserver/request/access-rules.ts';
import {
  type Authenticate,
  type Authorize,
  bearerIn,
  type Decision,
  type User,
} from '../../apiserver/request/identity.ts';
import type { Target } from '../../apiserver/request/target.ts';
import { type CertificateHolder, certificateHolder } from '../../apiserver/tls/client-certificate.ts';
import type { Clock } from '../../clock.ts';
import { decide, type Policy, rulesFor } from '../rbac/policy.ts';
import type { PolicyRule } from '../rbac/rules.ts';

export interface AccessUser {
  name: string;
  groups?: readonly string[];
  token: string;
  rules?: readonly AccessRule[];
}

const authenticated = 'system:authenticated';
/** Names the credential in a user's extras, e.g. by the fingerprint of the certificate. */
const credentialKey = 'authentication.kubernetes.io/credential-id';

/** Every authenticated user may read the documents that clients load first, and review their own rights. */
const authenticatedRules: readonly AccessRule[] = [
  {
    verbs: ['get'],
    nonResourceURLs: [
      '/api',
      '/api/*',
      '/apis',
      '/apis/*',
      '/openapi',
      '/openapi/*',
      '/version',
      '/version/',
      '/healthz',
      '/livez',
      '/readyz',
      '/',
    ],
  },
  {
    verbs: ['create'],
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  },
  { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
];

const anonymous: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
/** Like a real cluster, health and version are public. */
const anonymousRules: readonly AccessRule[] = [
  { verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] },
];

interface KnownToken {
  token: Buffer;
  userName: string;
  expiresAt: Date | undefined;
}

export class Access implements Reviewer {
  #clock: Clock;
  /** Undefined = the open mode, in which users have the rules that they were added with. */
  #policy: (() => Promise<Policy>) | undefined;
  #users = new Map<string, { user: User; rules: readonly AccessRule[] }>();
  #tokens: KnownToken[] = [];

  constructor(clock: Clock, policy?: () => Promise<Policy>) {
    this.#clock = clock;
    this.#policy = policy;
  }

  add({ name, groups = [], token, rules = [] }: AccessUser): void {
    if (this.#policy !== undefined && rules.length > 0)
      throw new Error(`add the user "${name}": this cluster takes rights from roles and bindings, found rules`);
    this.#users.set(name, { user: { name, groups: [...groups, authenticated] }, rules });
    this.#tokens = this.#tokens.filter((known) => known.userName !== name);
    this.#tokens.push({ token: Buffer.from(token), userName: name, expiresAt: undefined });
  }

  /** Adds a token for a new or known user; the user's other tokens stay valid. */
  addToken(name: string, more: { groups: readonly string[]; token: string; expiresAt?: Date }): void {
    const rules = this.#users.get(name)?.rules ?? [];
    this.#users.set(name, { user: { name, groups: [...more.groups, authenticated] }, rules });
    const now = this.#clock.wallTime();
    this.#tokens = this.#tokens.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
    this.#tokens.push({ token: Buffer.from(more.token), userName: name, expiresAt: more.expiresAt });
  }

  /** Removes the user and all tokens of the user. */
  remove(name: string): void {
    this.#users.delete(name);
    this.#tokens = this.#tokens.filter((known) => known.userName !== name);
  }

  setRules(name: string, rules: readonly AccessRule[]): void {
    const known = this.#users.get(name);
    if (known !== undefined) known.rules = rules;
  }

  /** Like a real cluster, a good certificate comes before a token, and a token before a bad certificate. */
  authenticate: Authenticate = (request: IncomingMessage) => {
    const holder = certificateHolder(request, this.#clock.wallTime());
    if (holder.kind === 'user') return userOf(holder);
    const header = request.headers.authorization;
    if (header === undefined) return holder.kind === 'refused' ? undefined : anonymous;
    const token = bearerIn(header);
    return token === undefined ? undefined : this.userOfToken(token);
  };

  userOfToken(token: string): User | undefined {
    const given = Buffer.from(token);
    for (const known of this.#tokens) {
      if (known.token.length !== given.length || !timingSafeEqual(known.token, given)) continue;
      if (known.expiresAt !== undefined && known.expiresAt <= this.#clock.wallTime()) return undefined;
      return this.#users.get(known.userName)?.user;
    }
    return undefined;
  }

  authorize: Authorize = ({ user, target }) => this.decide(user, target);

  decide(user: User, target: Target): Decision | Promise<Decision> {
    if (user.groups.includes(mastersGroup)) return { allowed: true };
    if (this.#policy !== undefined) return this.#policy().then((policy) => decide(policy, user, target));
    return { allowed: this.#ownRules(user).some((rule) => covers(rule, target)) };
  }

  rulesOf(user: User, namespace: string): readonly AccessRule[] | Promise<readonly AccessRule[]> {
    if (this.#policy === undefined) return this.#ownRules(user);
    return this.#policy().then((policy) => rulesFor(policy, user, namespace).rules.map(shownRule));
  }

  async ruleFault(user: User, namespace: string): Promise<string> {
    return this.#policy === undefined ? '' : rulesFor(await this.#policy(), user, namespace).fault;
  }

  #ownRules(user: User): readonly AccessRule[] {
    if (user.groups.includes(mastersGroup)) {
      return [
        { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
        { verbs: ['*'], nonResourceURLs: ['*'] },
      ];
    }
    if (!user.groups.includes(authenticated)) return anonymousRules;
    return [...authenticatedRules, ...(this.#users.get(user.name)?.rules ?? [])];
  }
}

/** Without the empty lists, which mean something else in an AccessRule. */
function shownRule(rule: PolicyRule): AccessRule {
  const { verbs, ...lists } = rule;
  const kept = Object.entries(lists).filter(([, list]) => list.length > 0);
  return { verbs, ...Object.fromEntries(kept) };
}

function userOf({ name, uid, groups, credential }: CertificateHolder & { kind: 'user' }): User {
  return {
    name,
    ...(uid === undefined ? {} : { uid }),
    groups: groups.includes(authenticated) ? groups : [...groups, authenticated],
    extra: { [credentialKey]: [credential] },
  };
}
