// Who made which key: the mark of the server on it, the outcome in the audit log, and the keys of teams that a leaver knows.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ManagementSettings } from '../../../../src/config/settings/management-settings.ts';
import { createLog } from '../../../../src/log.ts';
import { localSocketPath, osUserHeader } from '../../../../src/management/server/commands/local-socket.ts';
import { createMetrics } from '../../../../src/metrics.ts';
import { type Answer, type Bench, keysPath, openBench, people } from '../bench.ts';

const team = people.teams[0] as ManagementSettings['teams'][number];
const instance = '/kubernetes/management/apis/management.platform/v1/namespaces/p-shop/virtualclusterinstances/v1';
const tokens = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';

let bench: Bench;
let alice: string;
beforeAll(async () => {
  bench = await openBench();
  alice = await bench.keyFor('alice-1', { user: 'alice' });
});
afterAll(() => bench.stop());
beforeEach(() => bench.api.apply(people));

const make = (key: string, name: string, spec: object, annotations?: object) =>
  bench.ask('POST', keysPath, { key, body: { metadata: { name, annotations }, spec } });
const keyIn = ({ body }: Answer) => String(body['spec']?.['key']);
const marksOf = async (name: string) =>
  (await bench.ask('GET', `${keysPath}/${name}`)).body['metadata']?.['annotations'];

interface Line {
  id: string;
  stage: string;
  subject?: { key: string; osUser?: string };
  objects?: { kind: string; name: string; uid: string; owner?: string; scope?: string }[];
  moreObjects?: number;
}

function outcomeOf({ headers }: Answer): Line | undefined {
  const lines = readFileSync(join(bench.folder, 'audit.log'), 'utf8').trim().split('\n');
  const entries = lines.map((line) => JSON.parse(line) as { entry?: Line } & Line).map((line) => line.entry ?? line);
  return entries.find(({ id, stage }) => id === headers['audit-id'] && stage === 'outcome');
}

/** As a command on this machine asks. */
function atDoor(headers: Record<string, string>, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request({
      ...{ socketPath: localSocketPath(bench.folder), method: 'POST', path: keysPath },
      headers: { 'content-type': 'application/json', ...headers },
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      response.on('end', () => resolve(String(response.headers['audit-id'])));
    });
    sent.end(JSON.stringify({ metadata: { name }, spec: { user: 'admin' } }));
  });
}

describe('hostward.dev/created-by', () => {
  it('names the user and the key, also of a key that a key of a team has made', async () => {
    const red = keyIn(await make(alice, 'red-made', { team: 'red' }));
    await make(red, 'red-grandchild', { team: 'red' });
    expect(await marksOf('red-made')).toEqual({ 'hostward.dev/created-by': 'user:alice key:alice-1' });
    expect(await marksOf('red-grandchild')).toEqual({
      'hostward.dev/created-by': 'team:red key:red-made user:alice',
    });
  });

  it('names the user of the machine for a key that is made through the socket', async () => {
    const id = await atDoor({ [osUserHeader]: 'operator' }, 'by-operator');
    expect(await marksOf('by-operator')).toEqual({ 'hostward.dev/created-by': 'os:operator' });
    await atDoor({}, 'by-nobody');
    expect(await marksOf('by-nobody')).toEqual({ 'hostward.dev/created-by': `os:uid-${process.getuid?.()}` });
    const text = readFileSync(join(bench.folder, 'audit.log'), 'utf8');
    expect(text.split('\n').find((line) => line.includes(id) && line.includes('"intent"'))).toContain(
      '"osUser":"operator"',
    );
  });

  it('takes no name of a user from a request over TLS', async () => {
    const headers = { [osUserHeader]: 'root' };
    await bench.ask('POST', keysPath, { key: alice, headers, body: { metadata: { name: 'claims' } } });
    expect(await marksOf('claims')).toEqual({ 'hostward.dev/created-by': 'user:alice key:alice-1' });
  });

  it("is the server's alone: nobody brings, changes or removes it", async () => {
    for (const mark of ['hostward.dev/created-by', 'hostward.dev/rotated-by'])
      expect(await make(bench.admin, 'forged', {}, { [mark]: 'user:bob key:x' })).toMatchObject({ code: 422 });
    await make(alice, 'kept', {});
    const merge = (annotations: object | null) =>
      bench.ask('PATCH', `${keysPath}/kept`, {
        type: 'application/merge-patch+json',
        body: { metadata: { annotations } },
      });
    expect(await merge({ 'hostward.dev/created-by': 'user:bob key:x' })).toMatchObject({ code: 422 });
    expect(await merge({ 'hostward.dev/created-by': null })).toMatchObject({ code: 200 });
    expect(await merge(null)).toMatchObject({ code: 200 });
    const put = { metadata: { name: 'kept' }, spec: { user: 'alice', displayName: 'anew' } };
    expect(await bench.ask('PUT', `${keysPath}/kept`, { body: put })).toMatchObject({ code: 200 });
    expect(await marksOf('kept')).toEqual({ 'hostward.dev/created-by': 'user:alice key:alice-1' });
  });

  it('stays when the key is written again from the manifest that it was made from, and so does who disabled it', async () => {
    const manifest = { metadata: { name: 'again' }, spec: { user: 'alice' } };
    await bench.ask('POST', keysPath, { body: manifest });
    const type = 'application/merge-patch+json';
    await bench.ask('PATCH', `${keysPath}/again`, { type, body: { spec: { disabled: true } } });
    const marks = await marksOf('again');
    expect(marks).toMatchObject({ 'hostward.dev/disabled-by': expect.any(String) });
    const shut = { ...manifest, spec: { ...manifest.spec, disabled: true } };
    expect(await bench.ask('PUT', `${keysPath}/again`, { body: shut })).toMatchObject({ code: 200 });
    expect(await marksOf('again')).toEqual(marks);
    expect(await bench.ask('PUT', `${keysPath}/again`, { body: manifest })).toMatchObject({ code: 200 });
    expect(await marksOf('again')).not.toHaveProperty(['hostward.dev/disabled-by']);
  });

  it('has the one who rotated the key last beside it', async () => {
    await make(bench.admin, 'turned', { team: 'red' });
    const body = {};
    expect(await bench.ask('POST', `${keysPath}/turned/rotate`, { key: alice, body })).toMatchObject({ code: 201 });
    expect(await marksOf('turned')).toMatchObject({ 'hostward.dev/rotated-by': 'user:alice key:alice-1' });
  });
});

describe('the outcome in the audit log', () => {
  const scope = { projects: [{ project: 'shop' }], rules: [{ verbs: ['get'] }] };
  // As `jq -cSj .spec.scope | sha256sum` has it.
  const digest = createHash('sha256')
    .update('{"projects":[{"project":"shop"}],"rules":[{"verbs":["get"]}]}')
    .digest('hex')
    .slice(0, 16);

  it('names what was made, changed, rotated and deleted', async () => {
    const made = await make(alice, 'audited', { scope });
    const uid = made.body['metadata']?.['uid'];
    const about = { kind: 'OwnedAccessKey', name: 'audited', uid, owner: 'user:alice', scope: digest };
    expect(outcomeOf(made)?.objects).toEqual([about]);
    const merge = { type: 'application/merge-patch+json', body: { spec: { scope: { rules: null } } } };
    const changed = await bench.ask('PATCH', `${keysPath}/audited`, merge);
    expect(outcomeOf(changed)?.objects).toMatchObject([
      { uid, scope: createHash('sha256').update('{"projects":[{"project":"shop"}]}').digest('hex').slice(0, 16) },
    ]);
    const rotated = await bench.ask('POST', `${keysPath}/audited/rotate`, { body: {} });
    expect(outcomeOf(rotated)?.objects).toMatchObject([{ kind: 'OwnedAccessKey', uid }]);
    const gone = await bench.ask('DELETE', `${keysPath}/audited`);
    expect(outcomeOf(gone)?.objects).toMatchObject([{ kind: 'OwnedAccessKey', name: 'audited', uid }]);
  });

  it('names the key of a kubeconfig and a direct token', async () => {
    const kubeconfig = await bench.ask('POST', `${instance}/kubeconfig`, { key: alice, body: {} });
    expect(outcomeOf(kubeconfig)?.objects).toMatchObject([
      { kind: 'OwnedAccessKey', name: expect.stringMatching(/^kubeconfig-shop-v1-/), owner: 'user:alice' },
    ]);
    const token = await bench.ask('POST', tokens, { key: alice, body: { spec: { scope } } });
    expect(outcomeOf(token)?.objects).toEqual([
      {
        kind: 'DirectClusterEndpointToken',
        name: '',
        uid: token.body['metadata']?.['uid'],
        owner: 'user:alice',
        scope: digest,
      },
    ]);
  });

  it('names nothing that was refused, tried or left as it is', async () => {
    const answers = [
      await make(alice, 'refused', { user: 'bob' }),
      await bench.ask('POST', `${keysPath}?dryRun=All`, { key: alice, body: { metadata: { name: 'tried' } } }),
      await bench.ask('PATCH', `${keysPath}/alice-1`, { type: 'application/merge-patch+json', body: {} }),
    ];
    for (const answer of answers) expect(outcomeOf(answer)?.objects).toBeUndefined();
  });

  it('names the first hundred keys of a collection that is deleted, and counts the others (at length)', async () => {
    const many = await openBench({ settings: { ...people, keys: { ...people.keys, perOwner: 200 } } });
    try {
      const bob = await many.keyFor('bobs', { user: 'bob' });
      for (let at = 0; at < 104; at++) await many.keyFor(`bob-${at}`, { user: 'bob' });
      const { headers } = await many.ask('DELETE', keysPath, { key: bob });
      const lines = readFileSync(join(many.folder, 'audit.log'), 'utf8').trim().split('\n');
      const line = lines.find((text) => text.includes(String(headers['audit-id'])) && text.includes('"outcome"')) ?? '';
      expect(line.match(/"kind":"OwnedAccessKey"/g)).toHaveLength(100);
      expect(line).toContain('"moreObjects":5');
    } finally {
      await many.stop();
    }
  });
});

describe('the keys of a team', () => {
  const left = { ...people, teams: [{ ...team, users: [] }] };
  const troubles = () => bench.api.status().troubles ?? [];

  it.each<[string, ManagementSettings]>([
    ['leaves the team', left],
    ['is disabled', { ...people, users: people.users.map((user) => ({ ...user, disabled: user.name === 'alice' })) }],
    [
      'leaves the configuration',
      { ...people, users: people.users.filter(({ name }) => name !== 'alice'), teams: [team] },
    ],
  ])('are in the status when the user who made them %s', async (what, settings) => {
    const name = `of-team-${what.length}`;
    const child = `${name}-child`;
    const value = keyIn(await make(alice, name, { team: 'red' }));
    await make(value, child, { team: 'red' });
    expect(troubles()).toEqual([]);
    await bench.api.apply(settings);
    const sentences = troubles().join('\n');
    expect(sentences).toMatch(/^alice is not in the team red by the configuration and knows its access keys /);
    expect(bench.api.status().ofLeavers).toBeGreaterThanOrEqual(2);
    for (const key of [name, child]) await bench.ask('DELETE', `${keysPath}/${key}`);
    await bench.api.apply(people);
    expect(troubles()).toEqual([]);
  });

  it('are in the log once and in a metric too when the user who made them leaves the team', async () => {
    const lines: string[] = [];
    const log = createLog({ level: 'warn', destination: { write: (line) => lines.push(line) } });
    const metrics = createMetrics();
    const watched = await openBench({ log, metrics });
    try {
      const key = await watched.keyFor('alice-2', { user: 'alice' });
      await watched.ask('POST', keysPath, { key, body: { metadata: { name: 'ours' }, spec: { team: 'red' } } });
      const said = () => lines.filter((line) => line.includes('knows its access key ours')).length;
      expect(said()).toBe(0);
      await watched.api.apply(left);
      // Said once for each change, not at every reload.
      await watched.api.apply(left);
      expect(said()).toBe(1);
      expect(await metrics.metrics()).toMatch(/^hostward_access_keys_of_leavers 1$/m);
    } finally {
      await watched.stop();
    }
  });

  it('are no news when an administrator has made them, or when somebody else has rotated them', async () => {
    const bobs = { ...people, teams: [{ ...team, users: ['alice', 'bob'] }] };
    await bench.api.apply(bobs);
    const bob = await bench.keyFor('bob-1', { user: 'bob' });
    const root = await bench.keyFor('root-1', { user: 'root' });
    await make(root, 'by-root', { team: 'red' });
    await make(alice, 'taken-over', { team: 'red' });
    await bench.ask('POST', `${keysPath}/taken-over/rotate`, { key: bob, body: {} });
    for (const name of ['red-made', 'red-grandchild', 'turned']) await bench.ask('DELETE', `${keysPath}/${name}`);
    await bench.api.apply({ ...bobs, teams: [{ ...team, users: ['bob'] }] });
    expect(troubles()).toEqual([]);
    await bench.api.apply({ ...bobs, teams: [{ ...team, users: ['alice'] }] });
    expect(troubles()).toEqual([
      'bob is not in the team red by the configuration and knows its access key taken-over; rotate them without --overlap, or revoke them (hostward keys list --made-by bob)',
    ]);
    for (const name of ['taken-over', 'by-root']) await bench.ask('DELETE', `${keysPath}/${name}`);
  });
});

describe('a value that a rotation has left for an overlap', () => {
  const troubles = () => bench.api.status().troubles ?? [];
  const both = { ...people, teams: [{ ...team, users: ['alice', 'bob'] }] };
  const withoutAlice = { ...people, teams: [{ ...team, users: ['bob'] }] };
  const rotated = (name: string, key: string | undefined, overlapSeconds: number) =>
    bench.ask('POST', `${keysPath}/${name}/rotate`, {
      ...(key !== undefined && { key }),
      body: { spec: { overlapSeconds } },
    });

  it('is known to who was shown it, and so is what it rotates and makes', async () => {
    await bench.api.apply(both);
    const bob = await bench.keyFor('bob-of-red', { user: 'bob' });
    const root = await bench.keyFor('root-of-red', { user: 'root' });
    await make(alice, 'left-1', { team: 'red' });
    const alices = keyIn(await make(alice, 'left-2', { team: 'red' }));
    await make(root, 'left-3', { team: 'red' });
    expect((await rotated('left-1', bob, 600)).code).toBe(201);
    expect((await rotated('left-2', root, 600)).code).toBe(201);
    await bench.api.apply(withoutAlice);
    expect(troubles().join()).toMatch(
      /^alice is not in the team red by the configuration and knows its access keys left-1, left-2;/,
    );
    expect(bench.api.status().ofLeavers).toBe(2);
    // With the old value, which is still valid.
    expect((await rotated('left-3', alices, 0)).code).toBe(201);
    await make(alices, 'left-4', { team: 'red' });
    expect((await marksOf('left-3'))?.['hostward.dev/rotated-by']).toBe('team:red key:left-2 user:alice');
    expect(troubles().join()).toMatch(/knows its access keys left-1, left-2, left-3, left-4;/);
    for (const name of ['left-2', 'left-3', 'left-4']) expect((await rotated(name, undefined, 0)).code).toBe(201);
    expect(troubles().join()).toMatch(/knows its access key left-1;/);
    for (const name of ['left-1', 'left-2', 'left-3', 'left-4']) await bench.ask('DELETE', `${keysPath}/${name}`);
    expect(troubles()).toEqual([]);
  });
});

describe('the keys of others that an administrator has made', () => {
  const troubles = () => bench.api.status().troubles ?? [];
  const noAdministrator = { ...people, administrators: { users: [], groups: [] } };

  it('are in the status when their maker is no administrator any more', async () => {
    const root = await bench.keyFor('root-of-others', { user: 'root' });
    await make(root, 'for-the-admin', { user: 'admin' });
    await make(root, 'for-alice', { user: 'alice' });
    await make(root, 'for-a-robot', { subject: 'robot', groups: ['devs'] });
    await make(root, 'of-root', {});
    expect(troubles()).toEqual([]);
    await bench.api.apply(noAdministrator);
    expect(troubles()).toEqual([
      'root is no administrator any more and knows the access keys for-a-robot, for-alice, for-the-admin of others; rotate them without --overlap, or revoke them (hostward keys list --made-by root)',
    ]);
    expect(bench.api.status().ofLeavers).toBe(3);
    await bench.api.apply({ ...noAdministrator, users: people.users.filter(({ name }) => name !== 'root') });
    expect(troubles()).toHaveLength(1);
    await bench.api.apply(people);
    await bench.ask('POST', `${keysPath}/for-the-admin/rotate`, { body: {} });
    await bench.api.apply(noAdministrator);
    expect(troubles().join()).toMatch(/knows the access keys for-a-robot, for-alice of others/);
    await bench.api.apply(people);
    expect(troubles()).toEqual([]);
  });
});
