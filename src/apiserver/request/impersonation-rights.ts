// Asks for the rights that one mode of impersonation needs, and makes the user that the request then runs as: groups that belong to
// the wanted user by nature are added. In: the sender, the wanted user, the tenant's authorization. Out: a user, or a 403.
import { type FieldError, fieldErrorText, invalidValue, requiredValue } from '../../object/meta/field-error.ts';
import { dnsLabelProblems, dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import { mastersGroup } from './access-rules.ts';
import { deniedBecause } from './denial.ts';
import type { Authorize, User } from './identity.ts';
import type { WantedUser } from './impersonation.ts';
import { StatusFault } from './status-fault.ts';
import type { Target } from './target.ts';

export interface Attempt {
  sender: User;
  wanted: WantedUser;
  target: Target;
  authorize: Authorize;
}

const anonymousName = 'system:anonymous';
const authenticatedGroup = 'system:authenticated';
const unauthenticatedGroup = 'system:unauthenticated';
export const authenticationGroup = 'authentication.k8s.io';
/** From here on a constrained mode first asks for the right to all names, as the real server does. */
const manyChecks = 4;

export interface Right {
  verb: string;
  /** API group of users, groups, nodes and service accounts. */
  group: string;
  nodeName?: string;
}

export async function impersonated(attempt: Attempt, right: Right): Promise<User> {
  const { wanted } = attempt;
  const isConstrained = right.verb !== 'impersonate';
  const about = { group: right.group, version: 'v1', verb: right.verb };
  let groups = wanted.groups;
  const node = isConstrained ? nodeOf(wanted.name) : undefined;
  const account = accountOf(wanted.name);
  if (account !== undefined) {
    if (groups.length === 0) groups = ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`];
    await demand(attempt, of({ ...about, resource: 'serviceaccounts', ...account }));
  } else if (node !== undefined) {
    groups = ['system:nodes'];
    await demand(attempt, of({ ...about, resource: 'nodes', name: right.nodeName ?? node }));
  } else await demand(attempt, of({ ...about, resource: 'users', name: wanted.name }));
  const own = { ...about, group: authenticationGroup };
  if (wanted.uid !== '') await demand(attempt, of({ ...own, resource: 'uids', name: wanted.uid }));
  await demandGroups(attempt, { ...about, resource: 'groups' }, isConstrained);
  await demandExtras(attempt, { ...own, resource: 'userextras' }, isConstrained);
  return asSeen(wanted, groups);
}

/** A group of a user without credentials never occurs together with the group of all users with credentials. */
function asSeen({ name, uid, extra }: WantedUser, groups: readonly string[]): User {
  const isAnonymous = name === anonymousName;
  const added = isAnonymous ? unauthenticatedGroup : authenticatedGroup;
  const isLeftOut = groups.includes(added) || (!isAnonymous && groups.includes(unauthenticatedGroup));
  return {
    name,
    groups: isLeftOut ? groups : [...groups, added],
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

async function demandGroups(attempt: Attempt, about: About, isConstrained: boolean): Promise<void> {
  const { groups } = attempt.wanted;
  if (isConstrained) {
    if (groups.includes('')) refuse(attempt, of(about), 'impersonating the empty string group is not allowed');
    const masters = of({ ...about, name: mastersGroup });
    if (groups.includes(mastersGroup))
      refuse(attempt, masters, `impersonating the ${mastersGroup} group is not allowed`);
    if (groups.length >= manyChecks && (await isAllowed(attempt, of({ ...about, name: '*' })))) return;
  }
  for (const name of groups) await demand(attempt, of({ ...about, name }));
}

async function demandExtras(attempt: Attempt, about: About, isConstrained: boolean): Promise<void> {
  const entries = Object.entries(attempt.wanted.extra).flatMap(([key, values]) =>
    values.map((value) => ({ subresource: key, name: value })),
  );
  if (isConstrained) {
    for (const { subresource, name } of entries) {
      const problem = extraProblem(subresource, name);
      if (problem !== undefined) refuse(attempt, of(about), problem);
    }
    const all = of({ ...about, subresource: '*', name: '*' });
    if (entries.length >= manyChecks && (await isAllowed(attempt, all))) return;
  }
  for (const entry of entries) await demand(attempt, of({ ...about, ...entry }));
}

function extraProblem(key: string, value: string): string | undefined {
  if (key === '') return 'impersonating the empty string key in extra is not allowed';
  const errors = domainPathErrors('extra.key', key).map(fieldErrorText);
  const shown = errors.length > 1 ? `[${errors.join(', ')}]` : errors[0];
  if (shown !== undefined) return `impersonating an invalid key in extra is not allowed: ${shown}`;
  return value === '' ? 'impersonating the empty string value in extra is not allowed' : undefined;
}

const pathChars = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";

function domainPathErrors(path: string, key: string): FieldError[] {
  if (key === '') return [requiredValue(path)];
  const slash = key.indexOf('/');
  if (slash <= 0 || slash === key.length - 1)
    return [invalidValue(path, key, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const host = key.slice(0, slash);
  const rest = key.slice(slash + 1);
  const errors = dnsSubdomainProblems(host).map((why) => invalidValue(path, host, why));
  if (!new RegExp(`^${pathChars}$`).test(rest))
    errors.push(invalidValue(path, rest, `Invalid path (regex used for validation is '${pathChars}')`));
  return errors;
}

export function nodeOf(user: string): string | undefined {
  const name = /^system:node:(.*)$/s.exec(user)?.[1];
  return name !== undefined && dnsSubdomainProblems(name).length === 0 ? name : undefined;
}

export function accountOf(user: string): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]*):([^:]*)$/.exec(user) ?? [];
  if (namespace === undefined || name === undefined) return undefined;
  const isValid = dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

const nothing = { path: '', group: '', version: '', namespace: '', resource: '', name: '', subresource: '' };

type About = Omit<Partial<Target>, 'verb'> & { verb: string };

function of(about: About): Target {
  return { ...nothing, isResource: true, query: new URLSearchParams(), ...about } as Target;
}

async function isAllowed({ sender, authorize }: Attempt, target: Target): Promise<boolean> {
  return (await authorize({ user: sender, target })).allowed;
}

export async function demand({ sender, authorize }: Attempt, target: Target): Promise<void> {
  const decision = await authorize({ user: sender, target });
  if (!decision.allowed) throw new StatusFault(deniedBecause(sender, target, decision.reason));
}

function refuse({ sender }: Attempt, target: Target, why: string): never {
  throw new StatusFault(deniedBecause(sender, target, why));
}
