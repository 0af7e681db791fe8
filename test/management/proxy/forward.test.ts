import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { AuditLog } from '../../../src/management/audit/audit.ts';
import { ownTime } from '../../own-time.ts';
import { keysPath, until } from '../server/bench.ts';
import { alice, ask, behind, cluster, instance, pods, setUp } from './behind-stage.ts';
import { rawClient, requestText } from './upstream.ts';

const space = '/kubernetes/project/shop/space/s1';

setUp();

describe('a request to a cluster behind the server', () => {
  it('goes on with the path below, and acts there as the caller', async () => {
    expect(await ask('GET', `${instance}${pods}?limit=5`)).toMatchObject({ code: 200, text: '{}' });
    const [seen] = behind.seen;
    expect(seen).toMatchObject({ method: 'GET', url: `${pods}?limit=5` });
    expect(seen?.headers.get('impersonate-user')).toEqual(['hostward:user:alice']);
    expect(seen?.headers.get('impersonate-group')).toEqual([
      'hostward:project:shop:user',
      'hostward:group:devs',
      'system:authenticated',
    ]);
    expect(seen?.headers.get('impersonate-extra-hostward.dev%2fkey')).toEqual(['alice-key']);
    expect(seen?.headers.get('authorization')).toEqual(['Bearer upstream-secret']);
    expect(seen?.headers.get('host')).toEqual([new URL(behind.url).host]);
  });

  it('carries bodies both ways, those of a delete too', async () => {
    behind.answerWith((request, response) => void request.pipe(response));
    const body = JSON.stringify({ text: 'x'.repeat(200_000) });
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(
        (await ask(method, `${instance}${pods}/one`.replace(/\/one$/, method === 'POST' ? '' : '/one'), { body })).text,
      ).toBe(body);
  });

  it('passes a body on while it is still sent, however long it is', async () => {
    const whole = 8 * 1024 * 1024;
    let arrived = 0;
    behind.answerWith((request, response) => {
      request.on('data', (part: Buffer) => {
        arrived += part.length;
      });
      request.on('end', () => response.end(`${arrived} bytes`));
    });
    const client = await rawClient(behind.bench);
    const headers = [`Authorization: Bearer ${alice}`, `Content-Length: ${whole}`, 'Connection: close'];
    client.write(requestText(`POST ${instance}${pods} HTTP/1.1`, headers));
    client.write(Buffer.alloc(1_000_000));
    await until(() => arrived === 1_000_000, 'the first megabyte behind');
    client.write(Buffer.alloc(whole - 1_000_000));
    await client.closed;
    expect(client.text()).toMatch(new RegExp(`^HTTP/1.1 200 [\\s\\S]*${whole} bytes`));
  });

  it('passes repeated header lines, trailers and the status text on', async () => {
    behind.answerWith((_request, response) => {
      response.writeHead(200, 'Fine', [
        ...['Warning', '299 - "one"', 'Warning', '299 - "two"', 'Trailer', 'X-Sum', 'Transfer-Encoding', 'chunked'],
        ...['Set-Cookie', 'a=b', 'WWW-Authenticate', 'Basic', 'Connection', 'X-Hop', 'X-Hop', '1'],
      ]);
      response.write('one');
      response.addTrailers({ 'X-Sum': '3' });
      response.end();
    });
    const client = await rawClient(behind.bench);
    client.write(
      requestText(`GET ${instance}${pods} HTTP/1.1`, [`Authorization: Bearer ${alice}`, 'Connection: close']),
    );
    await client.closed;
    const text = client.text();
    expect(text).toMatch(/^HTTP\/1.1 200 Fine\r\n/);
    expect(text.match(/Warning: 299/g)).toHaveLength(2);
    expect(text).toMatch(/\r\n0\r\nX-Sum: 3\r\n/);
    expect(text).not.toMatch(/set-cookie|www-authenticate|x-hop/i);
  });

  it('stays in the namespace of a space, for administrators with rules and without a scope', async () => {
    const rules = [{ requestTargets: ['ProjectSpace'] }];
    const keys = [
      await behind.bench.keyFor('root-space', { user: 'root' }),
      await behind.bench.keyFor('root-rules', { user: 'root', scope: { rules } }),
    ];
    for (const key of keys)
      for (const path of [pods, '/api/v1/nodes', '/api/v1/pods', '/api/v1/namespaces/other', '/metrics'])
        expect([path, (await ask('GET', space + path, { key })).code]).toEqual([path, 403]);
    expect(behind.seen).toEqual([]);
  });

  it('needs a right: what is hidden answers as what is absent, and what a scope leaves out is 403', async () => {
    const hidden = await ask('GET', `/kubernetes/cluster/hidden${pods}`);
    const absent = await ask('GET', `/kubernetes/cluster/absent${pods}`);
    expect(hidden).toMatchObject({ code: 404, body: { reason: 'NotFound' } });
    expect(hidden.text.replaceAll('hidden', 'absent')).toBe(absent.text);
    const missing = [`/kubernetes/project/shop/virtualcluster/v9${pods}`, `/kubernetes/project/shop/space/s9${pods}`];
    for (const path of missing) expect(await ask('GET', path)).toMatchObject({ code: 404 });
    for (const path of missing)
      expect(await ask('GET', path, { key: behind.bench.admin })).toMatchObject({ code: 404 });
    const bob = await behind.bench.keyFor('bob-key', { user: 'bob' });
    expect(await ask('GET', `${instance}${pods}`, { key: bob })).toMatchObject({ code: 403 });
    expect(await ask('GET', `${space}${pods}`, { key: bob })).toMatchObject({ code: 404 });
    expect(await ask('GET', `${space}${pods}`)).toMatchObject({ code: 403 });
    expect(await ask('GET', `${space}/api/v1/namespaces/shop-s1/pods`)).toMatchObject({ code: 200 });
    const scope = { virtualClusters: [{ project: 'shop', virtualCluster: 'v2' }] };
    const narrow = await behind.bench.keyFor('narrow', { user: 'alice', scope });
    expect(await ask('GET', `${instance}/version`, { key: narrow })).toMatchObject({ code: 404 });
    expect(behind.seen).toHaveLength(1);
  });

  it('wants a key, before anything else', async () => {
    for (const path of [`${cluster}${pods}`, '/kubernetes/cluster', '/kubernetes/project/x', `${cluster}/a//b`])
      expect(await ask('GET', path, { key: undefined })).toMatchObject({ code: 401, body: { kind: 'Status' } });
    const client = await rawClient(behind.bench);
    const two = [`Authorization: Bearer ${alice}`, `Authorization: Bearer ${alice}`, 'Connection: close'];
    client.write(requestText(`GET ${cluster}${pods} HTTP/1.1`, two));
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 400 /);
    expect(behind.seen).toEqual([]);
  });

  it('no header that claims an identity reaches the cluster, in any spelling', async () => {
    for (const name of [
      'Impersonate-User',
      'IMPERSONATE-GROUP',
      'impersonate_user',
      'Impersonate-Extra-a',
      'Impersonate-Uid',
    ])
      expect(await ask('GET', `${cluster}${pods}`, { headers: { [name]: 'system:admin' } })).toMatchObject({
        code: 403,
      });
    expect(behind.seen).toEqual([]);
    const claims = [
      'X-Remote-User',
      'x_remote_group',
      'X-REMOTE-EXTRA-a',
      'X-Remote-Uid',
      'Cookie',
      'Forwarded',
      'X-Real-Ip',
    ];
    const headers = Object.fromEntries(
      [...claims, 'X-Forwarded-For', 'x_forwarded_host'].map((name) => [name, 'forged']),
    );
    expect(await ask('GET', `${cluster}${pods}`, { headers })).toMatchObject({ code: 200 });
    expect([...(behind.seen[0]?.headers.values() ?? [])].flat()).not.toContain('forged');
    expect(behind.seen[0]?.headers.get('x-forwarded-for')).toEqual(['127.0.0.1']);
  });

  it('Connection cannot take our own headers away (CVE-2021-31999)', async () => {
    const headers = { connection: 'Impersonate-User, impersonate-group, Authorization, X-Mine', 'x-mine': '1' };
    expect(await ask('GET', `${cluster}${pods}`, { headers })).toMatchObject({ code: 200 });
    const [seen] = behind.seen;
    expect(seen?.headers.get('impersonate-user')).toEqual(['hostward:user:alice']);
    expect(seen?.headers.get('impersonate-group')?.length).toBe(2);
    expect(seen?.headers.get('authorization')).toEqual(['Bearer upstream-secret']);
    expect(seen?.headers.has('x-mine')).toBe(false);
  });

  it('too many header bytes are 431', async () => {
    const headers = { 'x-long': 'x'.repeat(17_000) };
    expect(await ask('GET', `${cluster}${pods}`, { headers })).toMatchObject({ code: 431, body: { kind: 'Status' } });
  });

  it('a watch event arrives while the watch goes on, within 100 ms', async () => {
    let write: (text: string) => void = () => undefined;
    behind.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      write = (text) => void response.write(text);
    });
    const watch = await behind.bench.follow(`${instance}${pods}?watch=true`, alice);
    const tookMs = ownTime();
    write('{"type":"ADDED","object":{}}\n');
    await until(() => watch.events.length === 1, 'the event');
    expect(tookMs()).toBeLessThan(100);
    watch.stop();
  });

  it('a client that goes away cancels the request behind', async () => {
    let isClosed = false;
    behind.answerWith((request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.flushHeaders();
      request.socket.once('close', () => {
        isClosed = true;
      });
    });
    const watch = await behind.bench.follow(`${instance}${pods}?watch=true`, alice);
    const tookMs = ownTime();
    watch.stop();
    await until(() => isClosed, 'the cancelled request');
    expect(tookMs()).toBeLessThan(1_000);
  });

  it('a watch of a key that dies is told so and closed within a second', async () => {
    behind.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"type":"ADDED","object":{}}\n');
    });
    const key = await behind.bench.keyFor('short-lived', { user: 'alice' });
    const watch = await behind.bench.follow(`${instance}${pods}?watch=true`, key);
    await until(() => watch.events.length === 1, 'the event');
    const tookMs = ownTime();
    expect(await behind.bench.ask('DELETE', `${keysPath}/short-lived`)).toMatchObject({ code: 200 });
    let isEnded = false;
    void watch.ended.then(() => {
      isEnded = true;
    });
    await until(() => isEnded, 'the end of the watch');
    expect(tookMs()).toBeLessThan(1_000);
    const object = { kind: 'Status', code: 401, reason: 'Unauthorized', message: 'the access key was deleted' };
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object });
    expect(await ask('GET', `${instance}${pods}`, { key })).toMatchObject({ code: 401 });
  });

  it('a log of a key that dies breaks off, and has no event of a watch at its end', async () => {
    behind.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"level":"info"}\n');
    });
    const key = await behind.bench.keyFor('short-log', { user: 'alice' });
    const client = await rawClient(behind.bench);
    const headers = [`Authorization: Bearer ${key}`, 'Connection: close'];
    client.write(requestText(`GET ${instance}${pods}/web/log?follow=true HTTP/1.1`, headers));
    await until(() => client.text().includes('info'), 'the first line');
    expect(await behind.bench.ask('DELETE', `${keysPath}/short-log`)).toMatchObject({ code: 200 });
    await until(() => client.socket.closed, 'the end of the log');
    expect(client.text()).not.toContain('ERROR');
  });

  it('encoded slashes and dot steps do not leave the project', async () => {
    const tricks = [
      '/../v2/api',
      '/%2e%2e/v2/api',
      '/api%2fv1',
      '/api/%2e%2e/x',
      '//api',
      '/api/v1/..%2f..',
      '/a\\b',
      '/api%252fv1',
    ];
    for (const trick of tricks) {
      const client = await rawClient(behind.bench);
      client.write(
        requestText(`GET ${instance}${trick} HTTP/1.1`, [`Authorization: Bearer ${alice}`, 'Connection: close']),
      );
      await client.closed;
      expect(`${trick} ${client.text().slice(9, 12)}`).toBe(`${trick} 400`);
    }
    expect(behind.seen).toEqual([]);
  });

  it('a redirect is neither followed nor passed on, except within the cluster (CVE-2022-3172)', async () => {
    const answer = async (location: string) => {
      behind.answerWith((_request, response) => void response.writeHead(302, { location }).end());
      return ask('GET', `${instance}${pods}`);
    };
    for (const foreign of [
      'http://evil.example/x',
      '//evil.example/x',
      '/\\evil.example',
      'x',
      'https://a:b@evil.example',
      behind.url.replace('://', '://a:b@'),
      'javascript:1',
    ])
      expect(await answer(foreign)).toMatchObject({ code: 502, body: { kind: 'Status' } });
    expect(await answer('/api/v1/x?y=1')).toMatchObject({
      code: 302,
      headers: { location: `${instance}/api/v1/x?y=1` },
    });
    expect(await answer(`${behind.url}/z`)).toMatchObject({ code: 302, headers: { location: `${instance}/z` } });
    expect(behind.seen).toHaveLength(9);
  });

  it.each([
    ['before the answer comes', 'Content-Length: 2', '{}'],
    ['in the middle of its body', 'Content-Length: 9', '{}'],
    ['with a chunk of no size', 'Transfer-Encoding: chunked', 'no size\r\n'],
  ])('has an outcome in the audit log too when its client hangs up %s', async (_, header, body) => {
    const lines = () => readFileSync(join(behind.bench.folder, 'audit.log'), 'utf8').trim().split('\n');
    const before = lines().length;
    behind.answerWith(() => undefined);
    const client = await rawClient(behind.bench);
    client.write(requestText(`POST ${instance}${pods} HTTP/1.1`, [`Authorization: Bearer ${alice}`, header]) + body);
    await until(() => lines().length > before, 'the intent');
    client.socket.destroy();
    await until(() => lines().length === before + 2, 'the outcome');
    const [intent, outcome] = lines()
      .slice(before)
      .map((line) => JSON.parse(line));
    expect(outcome).toMatchObject({ id: intent.id, stage: 'outcome', code: 503 });
  });

  it('does not go on before its line is in the audit log', async () => {
    const { begins } = AuditLog.prototype;
    const [asked, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = vi.spyOn(AuditLog.prototype, 'begins').mockImplementation(async function (this: AuditLog, entry) {
      if (entry.target.verb === 'create') {
        asked.resolve();
        await written.promise;
      }
      return begins.call(this, entry);
    });
    try {
      const creating = ask('POST', `${instance}${pods}`, { body: {} });
      await asked.promise;
      // Whatever had gone on would be there before these.
      for (let nth = 0; nth < 3; nth++) await ask('GET', `${instance}${pods}`);
      expect(behind.seen.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
      written.resolve();
      expect((await creating).code).toBe(200);
      expect(behind.seen.at(-1)?.method).toBe('POST');
    } finally {
      written.resolve();
      slow.mockRestore();
    }
  });

  it('what changes something is in the audit log, reads do not, and no header or body does', async () => {
    await ask('POST', `${instance}${pods}?fieldManager=x`, { body: { secret: 'body-secret' } });
    await ask('GET', `${instance}${pods}`);
    const lines = readFileSync(join(behind.bench.folder, 'audit.log'), 'utf8').split('\n');
    const mine = lines.filter((line) => line.includes(`${instance}${pods}?fieldManager`));
    expect(mine).toHaveLength(1);
    expect(JSON.parse(mine[0] ?? '')).toMatchObject({
      stage: 'intent',
      subject: { kind: 'user', name: 'alice', key: 'alice-key' },
      target: { kind: 'ProjectVirtualCluster', project: 'shop', virtualCluster: 'v1' },
      request: 'create pods in default',
    });
    expect(lines.join('')).not.toMatch(/body-secret|upstream-secret/);
  });
});
