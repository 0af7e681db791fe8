// Guarantees for client certificates. The claims are the expectation; a real kube-apiserver keeps them too.
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClusterCa, createCa } from '../../kube/start/certificates.ts';
import { ApiClient, type ClientCertificate, type RequestOptions } from '../client.ts';

interface Subject {
  url: string;
  caPem: string;
  adminToken: string;
  clientAuthority: ClusterCa;
}

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const minuteMs = 60_000;

export function clientCertificateContract(at: { subject: () => Subject }): void {
  const open: ApiClient[] = [];
  const clientWith = (certificate: ClientCertificate): ApiClient => {
    const { url, caPem } = at.subject();
    const client = new ApiClient({ url, caPem, token: null, certificate });
    open.push(client);
    return client;
  };
  const whoAmI = async (client: ApiClient, options: RequestOptions = {}) => {
    const answer = await client.request('POST', reviews, { body: {}, ...options });
    const { status } = answer.json as { status?: { userInfo?: unknown } };
    return answer.status === 201 ? status?.userInfo : answer.status;
  };
  const issue: ClusterCa['issue'] = (...given) => at.subject().clientAuthority.issue(...given);
  const issueWith: ClusterCa['issueWith'] = (...given) => at.subject().clientAuthority.issueWith(...given);

  describe('client certificates', () => {
    let folder = '';
    let foreign: ClusterCa;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-foreign-'));
      foreign = await createCa(folder);
    });
    afterAll(async () => {
      for (const client of open) await client.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it('name the user and the groups, on new, kept and resumed connections', async () => {
      const certificate = await issue('carol', ['devs', 'two, words', 'ünï']);
      const fingerprint = createHash('sha256').update(new X509Certificate(certificate.certificatePem).raw);
      const carol = {
        username: 'carol',
        groups: ['devs', 'two, words', 'ünï', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint.digest('hex')}`] },
      };
      const client = clientWith(certificate);
      expect(await whoAmI(client)).toEqual(carol);
      expect(await whoAmI(client, { headers: { connection: 'close' } })).toEqual(carol);
      expect(await whoAmI(client, { headers: { connection: 'close' } })).toEqual(carol);
    });

    it('make an administrator of a member of system:masters', async () => {
      const client = clientWith(await issue('root', ['system:masters']));
      expect((await client.request('GET', '/api/v1/namespaces')).status).toBe(200);
    });

    it('carry the last of several common names, and a uid', async () => {
      const certificate = await issueWith([{ CN: ['old'] }, { CN: ['new'] }, { '1.3.6.1.4.1.57683.2': ['u-1'] }]);
      expect(await whoAmI(clientWith(certificate))).toMatchObject({ username: 'new', uid: 'u-1' });
    });

    it('without a common name are no credentials', async () => {
      const client = clientWith(await issueWith([{ O: ['devs'] }]));
      expect(await whoAmI(client)).toBe(403);
      expect(await whoAmI(client, { token: at.subject().adminToken })).toMatchObject({ username: 'admin' });
    });

    it('come before a token, even before a wrong one', async () => {
      const client = clientWith(await issue('carol', []));
      expect(await whoAmI(client, { token: at.subject().adminToken })).toMatchObject({ username: 'carol' });
      expect(await whoAmI(client, { token: 'wrong' })).toMatchObject({ username: 'carol' });
    });

    it('that have expired are wrong credentials, and a token beside them still counts', async () => {
      const client = clientWith(await issue('carol', [], -minuteMs / 2));
      expect(await whoAmI(client)).toBe(401);
      expect((await client.request('GET', '/version')).status).toBe(401);
      expect(await whoAmI(client, { token: at.subject().adminToken })).toMatchObject({ username: 'admin' });
    });

    it('of another authority are wrong credentials, and a token beside them still counts', async () => {
      const client = clientWith(await foreign.issue('root', ['system:masters']));
      expect(await whoAmI(client)).toBe(401);
      expect(await whoAmI(client, { headers: { connection: 'close' } })).toBe(401);
      expect(await whoAmI(client, { token: at.subject().adminToken })).toMatchObject({ username: 'admin' });
    });

    it('made for servers are wrong credentials', async () => {
      const client = clientWith(await issueWith([{ CN: ['carol'] }], { purpose: 'server' }));
      expect(await whoAmI(client)).toBe(401);
    });

    it('with two uids are wrong credentials', async () => {
      const uid = '1.3.6.1.4.1.57683.2';
      const client = clientWith(await issueWith([{ CN: ['carol'] }, { [uid]: ['a'] }, { [uid]: ['b'] }]));
      expect(await whoAmI(client)).toBe(401);
    });

    it('let their user act as another one only with the right to do so', async () => {
      const headers = { 'impersonate-user': 'alice' };
      expect(await whoAmI(clientWith(await issue('root', ['system:masters'])), { headers })).toMatchObject({
        username: 'alice',
      });
      expect(await whoAmI(clientWith(await issue('carol', [])), { headers })).toBe(403);
    });
  });
}
