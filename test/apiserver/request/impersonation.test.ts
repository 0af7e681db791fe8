import { afterEach, describe, expect, it } from 'vitest';
import type { AuditedRequest } from '../../../src/apiserver/kinds/kit.ts';
import { type AccessRule, covers } from '../../../src/apiserver/request/access-rules.ts';
import type { Authorize, User } from '../../../src/apiserver/request/identity.ts';
import type { WantedUser } from '../../../src/apiserver/request/impersonation.ts';
import { Impersonation } from '../../../src/apiserver/request/impersonation-modes.ts';
import type { RequestRecord } from '../../../src/apiserver/request/request-journal.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { collection, openShop, type Shop } from '../shop/widgets.ts';

const core = { verbs: ['impersonate'], apiGroups: [''] };
const own = { verbs: ['impersonate'], apiGroups: ['authentication.k8s.io'] };
const users: AccessRule = { ...core, resources: ['users'], resourceNames: ['jane'] };
const groups: AccessRule = { ...core, resources: ['groups'], resourceNames: ['devs'] };
const keys: AccessRule = { ...own, resources: ['userextras/hostward.dev/key'] };
const node = 'authentication.kubernetes.io/node-name';
const account = 'system:serviceaccount:shop:till';
const on = (mode: string, ...verbs: string[]): AccessRule[] => [
  { verbs: verbs.map((verb) => `impersonate-on:${mode}:${verb}`), apiGroups: ['*'], resources: ['*'] },
];
const constrained = (mode: string, resource: string, ...names: string[]): AccessRule => ({
  verbs: [`impersonate:${mode}`],
  apiGroups: ['authentication.k8s.io'],
  resources: [resource],
  ...(names.length === 0 ? {} : { resourceNames: names }),
});

interface Case {
  name: string;
  rules: AccessRule[];
  wanted: Partial<WantedUser> & { name: string };
  sender?: User;
  /** The groups that the user then has, or a part of the refusal. */
  as: string[] | string;
}

const cases: Case[] = [
  { name: 'a named user', rules: [users], wanted: { name: 'jane' }, as: ['system:authenticated'] },
  {
    name: 'a user whom the right does not name',
    rules: [users],
    wanted: { name: 'root' },
    as: 'cannot impersonate-on:user-info:list resource "pods"',
  },
  {
    name: 'a group without the right for groups',
    rules: [users],
    wanted: { name: 'jane', groups: ['devs'] },
    as: 'cannot impersonate-on:user-info:list',
  },
  {
    name: 'each group is asked for',
    rules: [users, groups],
    wanted: { name: 'jane', groups: ['devs', 'system:masters'] },
    as: 'cannot impersonate-on',
  },
  {
    name: 'named groups',
    rules: [users, groups],
    wanted: { name: 'jane', groups: ['devs'] },
    as: ['devs', 'system:authenticated'],
  },
  {
    name: 'an extra whose key the right names as a subresource',
    rules: [users, keys],
    wanted: { name: 'jane', extra: { 'hostward.dev/key': ['k1', 'k2'] } },
    as: ['system:authenticated'],
  },
  {
    name: 'an extra with another key',
    rules: [users, keys],
    wanted: { name: 'jane', extra: { scopes: ['all'] } },
    as: 'cannot impersonate-on',
  },
  { name: 'a uid without the right', rules: [users], wanted: { name: 'jane', uid: '7' }, as: 'cannot impersonate-on' },
  {
    name: 'a uid',
    rules: [users, { ...own, resources: ['uids'], resourceNames: ['7'] }],
    wanted: { name: 'jane', uid: '7' },
    as: ['system:authenticated'],
  },
  {
    name: 'a service account by the right on service accounts of its namespace',
    rules: [{ ...core, resources: ['serviceaccounts'], namespaces: ['shop'] }],
    wanted: { name: account },
    as: ['system:serviceaccounts', 'system:serviceaccounts:shop', 'system:authenticated'],
  },
  {
    name: 'a service account by the right on users',
    rules: [{ ...core, resources: ['users'] }],
    wanted: { name: account },
    as: 'cannot impersonate-on:serviceaccount:list',
  },
  {
    name: 'a user in the constrained way, for this verb',
    rules: [...on('user-info', 'list'), constrained('user-info', 'users', 'jane')],
    wanted: { name: 'jane' },
    as: ['system:authenticated'],
  },
  {
    name: 'a user in the constrained way, for another verb',
    rules: [...on('user-info', 'get'), constrained('user-info', 'users', 'jane')],
    wanted: { name: 'jane' },
    as: 'cannot impersonate-on:user-info:list resource "pods"',
  },
  {
    name: 'never system:masters in the constrained way',
    rules: [...on('user-info', 'list'), constrained('user-info', '*')],
    wanted: { name: 'jane', groups: ['system:masters'] },
    as: 'groups.authentication.k8s.io "system:masters" is forbidden: User "proxy" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
  },
  {
    name: 'many groups by the right to all of them',
    rules: [
      ...on('user-info', 'list'),
      constrained('user-info', 'users'),
      constrained('user-info', 'groups', '*', 'a'),
    ],
    wanted: { name: 'jane', groups: ['a', 'b', 'c', 'd'] },
    as: ['a', 'b', 'c', 'd', 'system:authenticated'],
  },
  {
    name: 'many groups by their names where there is no right to all of them',
    rules: [...on('user-info', 'list'), constrained('user-info', 'users'), constrained('user-info', 'groups', 'a')],
    wanted: { name: 'jane', groups: ['a', 'b', 'c', 'd'] },
    as: 'groups.authentication.k8s.io "b" is forbidden',
  },
  {
    name: 'three groups by their names only',
    rules: [
      ...on('user-info', 'list'),
      constrained('user-info', 'users'),
      constrained('user-info', 'groups', '*', 'a'),
    ],
    wanted: { name: 'jane', groups: ['a', 'b', 'c'] },
    as: 'groups.authentication.k8s.io "b" is forbidden',
  },
  {
    name: 'no extra key without a domain in the constrained way',
    rules: [...on('user-info', 'list'), constrained('user-info', '*')],
    wanted: { name: 'jane', extra: { scopes: ['all'] } },
    as: 'extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")',
  },
  {
    name: 'a node in the constrained way',
    rules: [...on('arbitrary-node', 'list'), constrained('arbitrary-node', 'nodes', 'n1')],
    wanted: { name: 'system:node:n1' },
    as: ['system:nodes', 'system:authenticated'],
  },
  {
    name: 'its own node, for a service account that runs there',
    rules: [...on('associated-node', 'list'), constrained('associated-node', 'nodes', '*')],
    sender: { name: account, groups: [], extra: { [node]: ['n1'] } },
    wanted: { name: 'system:node:n1' },
    as: ['system:nodes', 'system:authenticated'],
  },
  {
    name: 'another node, for a service account',
    rules: [...on('associated-node', 'list'), constrained('associated-node', 'nodes', '*')],
    sender: { name: account, groups: [], extra: { [node]: ['n1'] } },
    wanted: { name: 'system:node:n2' },
    as: 'cannot impersonate-on:arbitrary-node:list',
  },
];

const pods = parseTarget('GET', '/api/v1/namespaces/a/pods');
const byRules =
  (rules: readonly AccessRule[]): Authorize =>
  ({ target }) => ({ allowed: rules.some((rule) => covers(rule, target)) });
const impersonationBy = (rules: readonly AccessRule[]) => new Impersonation({ authorize: byRules(rules), isOn: true });
const proxy: User = { name: 'proxy', groups: [] };
const wish = (part: Partial<WantedUser> & { name: string }): WantedUser => ({
  uid: '',
  groups: [],
  extra: {},
  ...part,
});

describe('the right to act as another user', () => {
  it.each(cases)('$name', async ({ rules, wanted, sender = proxy, as }) => {
    const asked = impersonationBy(rules).userFor({
      sender,
      wanted: wish(wanted),
      target: pods,
      authorize: byRules(rules),
    });
    if (typeof as === 'string') await expect(asked).rejects.toThrow(as);
    else expect(await asked).toMatchObject({ name: wanted.name, groups: as });
  });

  it('is refused in the words of the way that allowed the sender last', async () => {
    const impersonation = impersonationBy([users]);
    const attempt = { sender: proxy, target: pods, authorize: byRules([users]) };
    await impersonation.userFor({ ...attempt, wanted: wish({ name: 'jane' }) });
    await expect(impersonation.userFor({ ...attempt, wanted: wish({ name: 'root' }) })).rejects.toThrow(
      'users "root" is forbidden: User "proxy" cannot impersonate resource "users" in API group "" at the cluster scope',
    );
  });
});

describe('a server that allows impersonation', () => {
  let shop: Shop | undefined;
  afterEach(async () => {
    await shop?.stop();
  });

  it('runs the request as the other user, and both users are in the audit log and in the journal', async () => {
    const heard: AuditedRequest[] = [];
    const records: RequestRecord[] = [];
    const audit = { begins: () => {}, ends: (entry: AuditedRequest) => void heard.push(entry) };
    shop = await openShop({ allowsImpersonation: true, audit });
    shop.server.journal.subscribe((record) => void records.push(record));
    const { status, json } = await shop.call('GET', collection, undefined, { 'impersonate-user': 'jane' });
    expect([status, json['message']]).toEqual([
      403,
      'widgets.shop.example is forbidden: User "jane" cannot list resource "widgets" in API group "shop.example" in the namespace "main"',
    ]);
    expect(heard.map(({ user, impersonatedUser }) => [user?.name, impersonatedUser?.name])).toEqual([
      ['owner', 'jane'],
    ]);
    expect(records[0]).toMatchObject({ user: 'owner', impersonatedUser: 'jane', code: 403 });
  });
});
