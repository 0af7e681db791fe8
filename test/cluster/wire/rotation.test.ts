// Credentials that name another CA, server or proxy while a connection is in use.
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { sendJson, sendStatus } from '../scripted-server.ts';
import { passing, until } from '../subject.ts';
import { namespace, path, RotationStage } from './rotation-stage.ts';

const stage = new RotationStage();

describe('a new CA', () => {
  test('that the file names already is taken by the very request that meets the new certificate', async () => {
    const { server, port } = await stage.used();
    stage.named.ca = stage.newCa.cert;
    await stage.stop(server);
    await stage.serve(stage.newCa, 'ours', port);
    expect(await stage.get()).toBe('ours');
    expect(stage.connection.address.takenAt).toBeDefined();
    expect(stage.logged.join()).toContain('another CA');
  });

  test('that the file names later is taken within two seconds, and those who wait are told', async () => {
    const { server, port } = await stage.used();
    await stage.stop(server);
    await stage.serve(stage.newCa, 'ours', port);
    let told = 0;
    stage.connection.subscribe(() => told++);
    expect(await stage.get()).toBe('failed');
    await stage.clock.advance(20_000);
    expect([told, stage.reads]).toEqual([0, expect.any(Number)]);
    expect(stage.reads).toBeLessThan(15);
    stage.named.ca = stage.newCa.cert;
    expect(await passing(stage.clock, () => told > 0, { stepMs: 100 })).toBeLessThanOrEqual(2_000);
    expect(await stage.get()).toBe('ours');
  });

  test('of another cluster at the same address is not taken', async () => {
    const { server, port } = await stage.used();
    stage.named.ca = stage.newCa.cert;
    await stage.stop(server);
    await stage.serve(stage.newCa, 'theirs', port);
    expect(await stage.get()).toBe('failed');
    expect(stage.connection.address.isInDoubt).toBe(true);
  });
});

describe('a new server', () => {
  test('that shows the same uid is taken after a refused connection, at once', async () => {
    const { server } = await stage.used();
    const next = await stage.serve(stage.newCa, 'ours');
    stage.named = { server: next.url, ca: stage.newCa.cert };
    await stage.stop(server);
    expect(await stage.get()).toBe('ours');
    expect(stage.connection.server).toBe(next.url);
    expect(stage.connection.address).toMatchObject({ server: next.url, notTaken: undefined, isInDoubt: false });
    expect(stage.connection.address.takenAt).toBeDefined();
  });

  test('is taken while the old one still answers: within a minute, or when somebody asks for it', async () => {
    const { url } = await stage.used();
    const next = await stage.serve(stage.oldCa, 'ours');
    stage.named.server = next.url;
    expect(await stage.get()).toBe('ours');
    expect(stage.connection.server).toBe(url);
    await stage.connection.reread();
    await stage.get();
    expect(stage.connection.server).toBe(next.url);
  });

  test('ends the streams to the old one', async () => {
    const hold: RequestListener = (request, response) =>
      request.url?.includes('watch') === true
        ? response.writeHead(200).flushHeaders()
        : sendJson(response, 200, namespace('ours'));
    const first = await stage.serve(stage.oldCa, hold);
    stage.named = { server: first.url, ca: stage.oldCa.cert };
    stage.open();
    await stage.get();
    stage.connection.pin({ path, uid: 'ours' });
    let isOpen = false;
    const request = { path: '/api/v1/endpoints?watch=1', headersTimeoutMs: 5_000, silenceMs: 60_000 };
    const stream = stage.connection.stream(request, { opened: () => (isOpen = true), data: () => undefined });
    await until(() => isOpen);
    stage.named.server = (await stage.serve(stage.oldCa, hold)).url;
    await stage.connection.reread();
    await stage.get();
    expect((await stream.ended).kind).toBe('broken');
  });

  const strangers: { name: string; answer: string | RequestListener; words: string }[] = [
    { name: 'another cluster', answer: 'theirs', words: 'has the uid theirs, wanted ours' },
    {
      name: 'a server that does not show the namespace',
      answer: (_, response) => sendStatus(response, 403, 'Forbidden', 'User "u" cannot get resource "namespaces"'),
      words: 'has not proved to be the same cluster',
    },
    {
      name: 'a cluster without it',
      answer: (_, response) => sendStatus(response, 404, 'NotFound', 'namespaces "kube-system" not found'),
      words: 'has not proved to be the same cluster',
    },
    {
      name: 'something else that has the uid',
      answer: (_, response) => sendJson(response, 200, { ...namespace('ours'), kind: 'Pod' }),
      words: 'has the uid none',
    },
  ];
  test.each(strangers)(
    'that is $name is not taken, and nothing may be written until the file is right',
    async ({ answer, words }) => {
      const { url } = await stage.used();
      const stranger = await stage.serve(stage.oldCa, answer);
      stage.named.server = stranger.url;
      await stage.connection.reread();
      expect(await stage.get()).toBe('ours');
      expect(stage.connection.server).toBe(url);
      const { notTaken, isInDoubt } = stage.connection.address;
      expect(isInDoubt).toBe(true);
      expect(notTaken).toContain(`kubeconfig "k" names the server ${stranger.url}, which`);
      expect(notTaken).toContain(words);
      expect(stage.logged.filter((line) => line.includes(words))).toHaveLength(1);
      await stage.clock.advance(30_000);
      expect(stage.logged.filter((line) => line.includes(words))).toHaveLength(1);
      stage.named.server = url;
      await passing(stage.clock, () => !stage.connection.address.isInDoubt, { stepMs: 100, limitMs: 3_000 });
      expect(stage.connection.address.notTaken).toBeUndefined();
    },
  );

  test('that cannot be reached yet leaves the old one in use for half a minute, and is taken when it comes', async () => {
    const { url } = await stage.used();
    const next = await stage.serve(stage.oldCa, 'ours');
    await stage.stop(next.server);
    stage.named.server = next.url;
    await stage.connection.reread();
    expect(stage.connection.address).toMatchObject({
      server: url,
      isInDoubt: false,
      notTaken: expect.stringContaining('refused'),
    });
    await stage.clock.advance(20_000);
    expect(stage.connection.address.isInDoubt).toBe(false);
    await stage.clock.advance(15_000);
    expect(stage.connection.address.isInDoubt).toBe(true);
    await stage.serve(stage.oldCa, 'ours', next.port);
    await passing(stage.clock, () => stage.connection.address.takenAt !== undefined, { stepMs: 100, limitMs: 3_000 });
    expect(await stage.get()).toBe('ours');
    expect(stage.connection.address).toMatchObject({ server: next.url, isInDoubt: false });
  });

  test('that was another cluster stays one while it is silent', async () => {
    const { url } = await stage.used();
    const stranger = await stage.serve(stage.oldCa, 'theirs');
    stage.named.server = stranger.url;
    await stage.connection.reread();
    await stage.stop(stranger.server);
    await stage.connection.reread();
    expect(stage.connection.address).toMatchObject({ isInDoubt: true, notTaken: expect.stringContaining('refused') });
    stage.named.server = url;
    await stage.connection.reread();
    expect(stage.connection.address).toMatchObject({ isInDoubt: false, notTaken: undefined });
  });

  test('is told by what the file says now, through every change of it', async () => {
    const { url } = await stage.used();
    const [one, other] = [await stage.serve(stage.oldCa, 'theirs'), await stage.serve(stage.oldCa, 'others')];
    const told = async () => {
      await stage.connection.reread();
      const { notTaken = '', isInDoubt, isUnread } = stage.connection.address;
      return { notTaken, isInDoubt, isUnread };
    };
    stage.named.server = one.url;
    expect((await told()).notTaken).toContain(`kubeconfig "k" names the server ${one.url}, which is another cluster`);
    stage.broken = 'reading kubeconfig "k": no YAML';
    expect(await told()).toEqual({
      notTaken: expect.stringMatching(/^reading kubeconfig "k": no YAML; before that kubeconfig "k" named the server /),
      ...{ isInDoubt: true, isUnread: true },
    });
    stage.broken = undefined;
    stage.named.server = other.url;
    const { notTaken, isUnread } = await told();
    expect(notTaken).toContain(`kubeconfig "k" names the server ${other.url}, which is another cluster`);
    expect([notTaken.includes(one.url), notTaken.includes('no YAML'), isUnread]).toEqual([false, false, false]);
    stage.named.server = url;
    expect(await told()).toEqual({ notTaken: '', isInDoubt: false, isUnread: false });
  });

  test('or nothing that can be read is told when that lasts, and no longer than it lasts', async () => {
    await stage.used();
    stage.broken = 'reading kubeconfig "k": no such file';
    await stage.connection.reread();
    expect(stage.connection.address.notTaken).toBeUndefined();
    await stage.clock.advance(5_000);
    expect(stage.connection.address).toMatchObject({
      notTaken: 'reading kubeconfig "k": no such file; what was read before stays in use',
      ...{ isUnread: true, isInDoubt: false },
    });
    expect(await stage.get()).toBe('ours');
    stage.broken = undefined;
    await passing(stage.clock, () => stage.connection.address.notTaken === undefined, { stepMs: 100, limitMs: 3_000 });
  });

  test('is not taken when the uid could not be read at the start', async () => {
    await stage.used();
    stage.connection.pin({ path, uid: undefined });
    stage.named.server = (await stage.serve(stage.oldCa, 'ours')).url;
    await stage.connection.reread();
    expect(stage.connection.address).toMatchObject({
      isInDoubt: true,
      notTaken: expect.stringContaining('is not known'),
    });
  });

  test('is taken without a proof before anything was read', async () => {
    const first = await stage.serve(stage.oldCa, 'typo');
    stage.named = { server: first.url, ca: stage.oldCa.cert };
    stage.open();
    await stage.get();
    stage.named.server = (await stage.serve(stage.oldCa, 'meant')).url;
    await stage.connection.reread();
    expect(await stage.get()).toBe('meant');
  });
});

test('a raw connection reads its files at once when the certificate is wrong, and follows the server', async () => {
  const { server } = await stage.serve(stage.oldCa, 'ours');
  const { port } = server.address() as AddressInfo;
  stage.named = { server: `https://127.0.0.1:${port}`, ca: stage.oldCa.cert };
  const { status, close } = stage.rawConnection();
  expect(await status()).toBe(200);
  await stage.stop(server);
  await stage.serve(stage.newCa, 'ours', port);
  stage.named.ca = stage.newCa.cert;
  expect(await status()).toBe(200);
  stage.named.server = (await stage.serve(stage.newCa, 'ours')).url;
  for (const one of [...stage.servers].slice(0, -1)) await stage.stop(one);
  expect(await status()).toBe(200);
  close();
});
