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
  const { status, json } = await both.client(a).request(method, `${keysPath}/${path}`, sent);
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
