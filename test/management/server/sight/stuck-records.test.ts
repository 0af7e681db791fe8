// Records that somebody has changed so that the host refuses what a replica wants to do with them.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toAnswer } from '../../../../src/cluster/wire/status-answer.ts';
import { keyPrefix } from '../../../../src/management/keys/book/key-book.ts';
import { hostFault } from '../../../../src/management/server/host/records/host-fault.ts';
import { metaName, nameOf, replicaName } from '../../../../src/store/kubernetes/records/record-format.ts';
import { ApiClient } from '../../../contract/client.ts';
import { recordsOn } from '../../../contract/store/on-host.ts';
import { keysPath } from '../bench.ts';
import { type Replica, TwoReplicas } from './two-replicas.ts';

const both = new TwoReplicas();
let host: ApiClient;
let a: Replica;
beforeAll(async () => {
  await both.start();
  host = new ApiClient({ url: both.host.url, caPem: both.host.caPem, token: both.host.adminToken });
  a = await both.replica('a');
}, 120_000);
afterAll(async () => {
  await host.close();
  await both.stop();
});

const merge = { headers: { 'content-type': 'application/merge-patch+json' } };
const secretOf = (key: string) => nameOf(keyPrefix + key);
const change = async (name: string, body: object) => {
  const path = `/api/v1/namespaces/${both.namespace}/secrets/${name}`;
  expect((await host.request('PATCH', path, { ...merge, body })).status).toBe(200);
};
const ask = async (method: string, path: string, body?: object) => {
  const headers = method === 'PATCH' ? merge.headers : {};
  const sent = { headers, ...(body && { body }) };
  const { status, json } = await both.client(a).request(method, path === '' ? keysPath : `${keysPath}/${path}`, sent);
  return { code: status, message: String((json as { message?: string }).message) };
};
const troubles = () => (a.api.status().store?.troubles ?? []).join('\n');

describe('a record that is marked immutable', () => {
  it('is named to whoever wants to change it, and in the status, and is deleted and made again as ever', async () => {
    for (const name of ['fixed', 'free']) await both.makeKey(a, name);
    await change(secretOf('fixed'), { immutable: true });
    await both.until(() => troubles().includes(secretOf('fixed')), 'the name of the record in the status');
    expect(troubles()).toMatch(/^1 record in namespace .* is marked immutable, .* the access key "fixed": delete/);

    const off = { spec: { disabled: true } };
    for (const refused of [await ask('PATCH', 'fixed', off), await ask('POST', 'fixed/rotate', {})]) {
      expect(refused.code).toBe(503);
      expect(refused.message).toContain(`the record ${secretOf('fixed')} in the cluster was marked immutable by hand`);
      expect(refused.message).toContain('delete the object, which works, and make a new one');
      expect(refused.message).not.toMatch(/quota|right/);
    }
    expect((await ask('PATCH', 'free', off)).code).toBe(200);

    expect((await ask('DELETE', 'fixed')).code).toBe(200);
    await both.until(() => troubles() === '', 'the end of the trouble');
    const again = await both.makeKey(a, 'fixed');
    expect((await ask('PATCH', 'fixed', { spec: { displayName: 'x' } })).code).toBe(200);
    expect(await both.use(a, 'fixed', again)).toBe(200);
  });

  it('and has a finalizer of somebody is deleted all the same, and its name is free', async () => {
    const key = await both.makeKey(a, 'held');
    await change(secretOf('held'), { immutable: true, metadata: { finalizers: ['example.com/holds'] } });
    expect(await ask('DELETE', 'held')).toMatchObject({ code: 200 });
    expect(await both.use(a, 'held', key)).toBe(401);
    await both.makeKey(a, 'held');
  });

  it('is known to a replica that starts, and that of the store is made again while none runs', async () => {
    await both.makeKey(a, 'old');
    await change(secretOf('old'), { immutable: true });
    await change(metaName, { immutable: true });
    await a.api.close();
    const records = recordsOn(both.host, both.namespace);
    const meta = await records.get(metaName);
    await records.remove(metaName, meta?.version ?? 0);
    await records.create(metaName, meta?.data ?? {});
    await records.stop();
    a = await both.replica('a');
    expect(troubles()).toContain('the access key "old"');
    expect(await both.use(a, 'root', both.admin)).toBe(200);
    expect((await ask('DELETE', 'old')).code).toBe(200);
  });
});

describe('a Secret that somebody has moved', () => {
  const place = '/api/v1/namespaces';
  const secrets = () => `${place}/${both.namespace}/secrets`;
  type Secret = { metadata: { name: string; labels: object }; type: string; data: Record<string, string> };
  const read = async (key: string): Promise<Secret> => {
    const { json } = await host.request('GET', `${secrets()}/${secretOf(key)}`);
    const { metadata, type, data } = json as Secret;
    return { metadata: { name: metadata.name, labels: metadata.labels }, type, data };
  };
  const make = async (secret: Secret, at = secrets()) =>
    expect((await host.request('POST', at, { body: { apiVersion: 'v1', kind: 'Secret', ...secret } })).status).toBe(
      201,
    );
  const remove = async (name: string) =>
    expect((await host.request('DELETE', `${secrets()}/${name}`)).status).toBe(200);
  const named = (secret: Secret, name: string) => ({ ...secret, metadata: { ...secret.metadata, name } });
  const lookAgain = async (says: RegExp) => {
    let asked = 0;
    await both.until(() => {
      // The look for what the watch does not show. To fire again would end its requests, which have as long.
      if (asked++ % 30 === 0) both.clock.fire(60_000);
      return says.test(troubles());
    }, `the trouble ${says}`);
  };

  it.each([
    {
      how: 'copied under another name',
      move: (secret: Secret) => make(named(secret, 'copied')),
      uses: 200,
      says: /1 record in .* is not believed and lets nobody in: copied \(its name does not belong to its key\)/,
      left: 'copied',
      asked: 200,
    },
    {
      how: 'renamed',
      move: async (secret: Secret) => {
        await remove(secret.metadata.name);
        await make(named(secret, 'renamed'));
      },
      uses: 401,
      says: /is not believed and lets nobody in: renamed \(its name does not belong to its key\)/,
      left: 'renamed',
      asked: 404,
    },
    {
      how: 'renamed to the name of another record',
      move: async (secret: Secret) => {
        await remove(secret.metadata.name);
        await make(named(secret, secretOf('nobody')));
      },
      uses: 401,
      says: /is not believed and lets nobody in: hw-[0-9a-v]{32} \(its name does not belong to its key\)/,
      left: () => secretOf('nobody'),
      asked: 404,
    },
    {
      how: 'made again',
      move: async (secret: Secret) => {
        await remove(secret.metadata.name);
        await make(secret);
      },
      uses: 401,
      says: /is not believed and lets nobody in: hw-[0-9a-v]{32} \(it is an older version of this record/,
      asked: 503,
    },
    {
      how: 'made again with another type',
      move: async (secret: Secret) => {
        await remove(secret.metadata.name);
        await make({ ...secret, type: 'Opaque' });
      },
      uses: 401,
      says: /1 Secret of another type in .* has the name of a record, which counts as deleted; the first is hw-[0-9a-v]{32}: delete the Secret/,
      asked: 503,
    },
    {
      how: 'made again without its label',
      move: async (secret: Secret) => {
        await remove(secret.metadata.name);
        await make({ ...secret, metadata: { ...secret.metadata, labels: {} } });
      },
      uses: 401,
      says: /1 record in .* has lost its label and counts as deleted; the first is hw-[0-9a-v]{32}: delete the Secret/,
      asked: 503,
    },
  ])(
    '$how is named, lets nobody in, and is over when it is deleted',
    async ({ how, move, uses, says, left, asked }) => {
      const key = how.replaceAll(' ', '-');
      const value = await both.makeKey(a, key);
      const secret = await read(key);
      await move(secret);
      await lookAgain(says);
      expect(await both.use(a, key, value)).toBe(uses);
      expect((await ask('GET', key)).code).toBe(asked);
      if (asked === 503)
        expect((await ask('POST', '', { metadata: { name: key }, spec: { user: 'alice' } })).code).toBe(503);
      expect(await both.use(a, 'root', both.admin)).toBe(200);
      await remove(typeof left === 'function' ? left() : (left ?? secret.metadata.name));
      await lookAgain(/^$/);
      if (uses === 200) return void expect(await both.use(a, key, value)).toBe(200);
      expect(await both.use(a, key, await both.makeKey(a, key))).toBe(200);
    },
  );

  it('into another namespace is a deleted key here, and says nothing there', async () => {
    const value = await both.makeKey(a, 'abroad');
    const secret = await read('abroad');
    await host.request('POST', place, { body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'abroad' } } });
    await make(secret, `${place}/abroad/secrets`);
    await remove(secret.metadata.name);
    await both.until(async () => (await both.use(a, 'abroad', value)) === 401, 'the refusal');
    expect(troubles()).toBe('');
  });
});

describe('a record of a newer version', () => {
  it('is left as it is, lets nobody in here, and the way out is that version and not kubectl', async () => {
    const value = await both.makeKey(a, 'later');
    const format = Buffer.from('3').toString('base64');
    await change(secretOf('later'), { data: { format } });
    await both.until(() => troubles() !== '', 'the trouble');
    expect(troubles()).toMatch(
      /^1 record in namespace .* is of a newer version of Hostward and lets nobody in here: hw-\S+ \(a newer version has written it in format 3; this one reads 2\); run that version, or a newer one, on all replicas$/,
    );
    expect(await both.use(a, 'later', value)).toBe(401);
    const refused = [
      await ask('GET', 'later'),
      await ask('PATCH', 'later', { spec: { disabled: true } }),
      await ask('DELETE', 'later'),
      await ask('POST', '', { metadata: { name: 'later' }, spec: { user: 'alice' } }),
    ];
    for (const { code, message } of refused) {
      expect(code).toBe(503);
      expect(message).toContain('a newer version of the server has written this record');
      expect(message).not.toContain('by hand');
    }
    const { json } = await host.request('GET', `/api/v1/namespaces/${both.namespace}/secrets/${secretOf('later')}`);
    expect((json as { data: { format: string } }).data.format).toBe(format);
    expect(await both.use(a, 'root', both.admin)).toBe(200);
  });
});

describe('a refusal of the host', () => {
  const url = 'https://10.0.0.1:6443';
  const name = 'hw-abc';
  const answered = (status: number, message: string, details?: object, reason?: string) => {
    const body = Buffer.from(
      JSON.stringify({ kind: 'Status', status: 'Failure', code: status, message, reason, details }),
    );
    const request = { method: 'PUT', what: `PUT /api/v1/namespaces/keys/secrets/${name}`, server: url };
    return toAnswer({ ...request, status, location: undefined, retryAfterMs: undefined, body });
  };
  const saidOf = (answer: ReturnType<typeof toAnswer>, of = name) => {
    if (answer.kind === 'ok') throw new Error('want a refusal');
    const { code, says = '', message } = hostFault('write', of, answer);
    return { code, says, message };
  };
  const ending = { causes: [{ reason: 'NamespaceTerminating', message: 'namespace keys is being terminated' }] };

  it.each([
    [
      'a webhook',
      answered(403, 'admission webhook "w.example.com" denied the request: no changes on Fridays'),
      ['refuses to write the record hw-abc', 'no changes on Fridays'],
    ],
    [
      'a policy',
      answered(
        422,
        `secrets "${name}" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: frozen`,
      ),
      ['refuses to write the record hw-abc', 'denied request: frozen'],
    ],
    [
      'a quota',
      answered(
        403,
        `secrets "${name}" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=9, limited: count/secrets=9`,
      ),
      ['a quota', 'exceeded quota: q', 'delete keys'],
    ],
    [
      'the end of the namespace',
      answered(
        403,
        `secrets "${name}" is forbidden: unable to create new content in namespace keys because it is being terminated`,
        ending,
      ),
      ['namespace that keeps the records is being deleted', 'hostward doctor'],
    ],
    [
      'a missing right',
      answered(
        403,
        `secrets is forbidden: User "u" cannot update resource "secrets" in API group "" in the namespace "keys"`,
      ),
      ['lacks a right', 'hostward doctor'],
    ],
  ])('by %s names the reason and the way out, and no address', (_by, answer, words) => {
    const { code, says } = saidOf(answer);
    expect(code).toBe('STORE_HOST_REFUSED');
    for (const word of words) expect(says).toContain(word);
    expect(says).not.toMatch(/10\.0\.0\.1|\/api\/v1|User "u"/);
    expect(says).toContain('nothing was');
  });

  it('is no missing right while the namespace is being deleted', () => {
    const { message } = saidOf(answered(403, 'unable to create new content', ending));
    expect(message).toContain('is being deleted, and every key with it');
    expect(message).not.toContain('grant this account');
  });

  it.each([
    [replicaName('r'), 'the replica makes it again'],
    ['hostward-uses-r-7', 'the replica makes it again'],
    [metaName, 'stop all replicas'],
    [name, 'make a new one'],
  ])('to change the immutable record %s says how to go on', (of, way) => {
    const words = `Secret "${of}" is invalid: data: Forbidden: field is immutable when \`immutable\` is set`;
    const { message, says } = saidOf(answered(422, words, undefined, 'Invalid'), of);
    expect(message).toContain(way);
    expect(says).toContain(way);
  });
});
