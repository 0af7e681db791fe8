import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ownTime } from '../../own-time.ts';
import { until } from '../server/bench.ts';
import { ask, behind, cluster, instance, pods, setUp } from './behind-stage.ts';
import { openBehind } from './upstream.ts';

setUp();

describe('a cluster that cannot answer', () => {
  it('has no kubeconfig: 503 that says so', async () => {
    const answer = await ask('GET', `/kubernetes/project/shop/virtualcluster/v2${pods}`);
    expect(answer).toMatchObject({ code: 503, body: { reason: 'ServiceUnavailable' } });
    expect(answer.text).toContain('no kubeconfig');
  });

  it('is down: 502, and its credentials are nowhere in the answer', async () => {
    const down = await openBehind();
    await down.stopUpstream();
    const answer = await down.bench.ask('GET', `${cluster}${pods}`);
    expect(answer).toMatchObject({ code: 502, body: { kind: 'Status' } });
    expect(answer.text).toMatch(/cluster c1 cannot be reached.*connection refused/);
    expect(answer.text).not.toMatch(/upstream-secret|kubeconfig"/);
    await down.bench.stop();
  });

  it('does not accept our credentials: they are read again, and a 401 of theirs is never one of ours', async () => {
    const own = await openBehind({ token: 'old' });
    own.answerWith((request, response) => {
      response.writeHead(request.headers.authorization === 'Bearer new' ? 200 : 401).end('{}');
    });
    expect(await own.bench.ask('GET', `${cluster}${pods}`)).toMatchObject({ code: 502 });
    own.useToken('new');
    expect(await own.bench.ask('GET', `${cluster}${pods}`)).toMatchObject({ code: 200 });
    await own.stop();
  });

  it('lacks the right to impersonate: 502 with the command that mends it', async () => {
    behind.answerWith((_request, response) => {
      const message =
        'users "hostward:user:alice" is forbidden: User "p" cannot impersonate resource "users" in API group ""';
      response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ kind: 'Status', message }));
    });
    const answer = await ask('GET', `${instance}${pods}`);
    expect(answer).toMatchObject({ code: 502 });
    expect(answer.text).toContain(
      'hostward upstream-rbac --instance shop/v1 --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml',
    );
    for (const text of ['{"message":"no"}', 'x'.repeat(100_000)]) {
      behind.answerWith((_request, response) => void response.writeHead(403).end(text));
      const refused = await ask('GET', `${instance}${pods}`);
      expect([refused.code, refused.text, refused.headers['warning']]).toEqual([403, text, undefined]);
    }
  });

  it('moves to another address: the changed kubeconfig counts within two seconds', async () => {
    const other = createServer((_request, response) => void response.end('moved'));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const own = await openBehind();
    expect(await own.bench.ask('GET', `${cluster}${pods}`)).toMatchObject({ text: '{}' });
    const { port } = other.address() as AddressInfo;
    const text = readFileSync(own.kubeconfigPath, 'utf8').replace(own.url, `http://127.0.0.1:${port}`);
    writeFileSync(own.kubeconfigPath, text);
    const tookMs = ownTime();
    const hasMoved = async () => (await own.bench.ask('GET', `${cluster}${pods}`)).text === 'moved';
    await until(hasMoved, 'an answer from the other address', 30_000);
    expect(tookMs()).toBeLessThan(2_000);
    await own.stop();
    other.close();
  });

  it('breaks its answer off: so does ours, and half an answer never looks whole', async () => {
    behind.answerWith((request, response) => {
      response.writeHead(200, { 'transfer-encoding': 'chunked' });
      response.write('half', () => request.socket.destroy());
    });
    await expect(ask('GET', `${instance}${pods}`)).rejects.toThrow();
  });
});
