import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../../../../src/cli/demo/free-ports.ts';
import { silentLog } from '../../../../../src/log.ts';
import type { RevocationEntry } from '../../../../../src/management/credentials/claims/revocations.ts';
import { heartbeatMs } from '../../../../../src/management/credentials/tokens/revocation-kind.ts';
import { KnownKeys, refetchMs } from '../../../../../src/management/proxy/direct/known-keys.ts';
import { RevocationWatch } from '../../../../../src/management/proxy/direct/revocation-watch.ts';
import { VirtualClock } from '../../../../virtual-clock.ts';
import { keySetDocument, makeSigner } from '../../../credentials/claims/token-bench.ts';
import { until } from '../../../server/bench.ts';
import { askAt, openEndpoint } from '../endpoint-bench.ts';

const pods = '/kubernetes/cluster/c1/api/v1/namespaces/default/pods';

const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describe('the key set of a platform that does not answer', () => {
  function scene() {
    const clock = new VirtualClock('2026-01-01T00:00:00Z');
    const state = { isDown: false, fetched: 0, changed: 0, document: keySetDocument as unknown };
    const keys = new KnownKeys({
      async fetch() {
        state.fetched++;
        if (state.isDown) throw new Error('connect ECONNREFUSED');
        return state.document;
      },
      changed: () => {
        state.changed++;
      },
      clock,
      log: silentLog,
    });
    endings.push(() => keys.stop());
    return { clock, state, keys };
  }

  it('known keys go on, and unknown ones are asked for every ten seconds at most', async () => {
    const { clock, state, keys } = scene();
    await keys.start();
    state.isDown = true;
    for (let round = 0; round < 5; round++) await keys.askAgain();
    expect([state.fetched, keys.keys.size]).toEqual([1, 1]);
    await clock.advance(refetchMs);
    await Promise.all([keys.askAgain(), keys.askAgain()]);
    await keys.askAgain();
    expect([state.fetched, keys.keys.size, state.changed]).toEqual([2, 1, 1]);
    state.isDown = false;
    state.document = { keys: [...keySetDocument.keys, makeSigner('two').jwk] };
    await clock.advance(refetchMs);
    await keys.askAgain();
    expect([keys.keys.size, state.changed]).toEqual([2, 2]);
  });

  it.each([
    ['nothing', {}],
    ['no keys', { keys: [] }],
    ['other keys', { keys: [{ kty: 'RSA' }] }],
  ])('an answer with %s replaces no keys', async (_what, document) => {
    const { clock, state, keys } = scene();
    await keys.start();
    state.document = document;
    await clock.advance(refetchMs);
    await keys.askAgain();
    expect([state.fetched, keys.keys.size]).toEqual([2, 1]);
  });
});

describe('the feed', () => {
  async function feedOf(answer: (write: (line: object | string) => void, end: () => void) => void, silenceMs = 30_000) {
    const clock = new VirtualClock('2026-01-01T00:00:00Z');
    const taken: RevocationEntry[] = [];
    const server: Server = createServer((_request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      answer(
        (line) => void response.write(typeof line === 'string' ? line : `${JSON.stringify(line)}\n`),
        () => void response.end(),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    let opened = 0;
    const watch = new RevocationWatch({
      open: async () => {
        opened++;
        const { get } = await import('node:http');
        return new Promise((resolve, reject) => {
          get({ port, host: '127.0.0.1', agent: false }, resolve).on('error', reject);
        });
      },
      taken: (entry) => void taken.push(entry),
      silenceMs,
      clock,
      log: silentLog,
    });
    endings.push(async () => {
      await watch.stop();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    watch.start();
    return { clock, taken, watch, opened: () => opened };
  }
  const ends = { annotations: { 'k8s.io/initial-events-end': 'true' } };
  const mark = { type: 'BOOKMARK', object: { metadata: ends } };

  it('counts from the first bookmark until a silence of thirty seconds', async () => {
    const { watch, clock } = await feedOf((write) => write(mark));
    expect(watch.trouble).toContain('not known yet');
    await until(() => watch.trouble === undefined, 'the bookmark');
    await clock.advance(14_000);
    expect(watch.trouble).toBeUndefined();
  });

  it('with bookmarks a little late goes on, also with the shortest silence that can be configured', async () => {
    let send: (line: object) => void = () => undefined;
    const { watch, clock, opened } = await feedOf((write) => {
      send = write;
      write(mark);
    }, 10_000);
    await until(() => watch.trouble === undefined, 'the bookmark');
    for (let round = 0; round < 5; round++) {
      await clock.advance(heartbeatMs + 500);
      const before = watch.ageSeconds;
      send(mark);
      await until(() => watch.ageSeconds < before, 'the next bookmark');
    }
    expect([opened(), watch.trouble]).toEqual([1, undefined]);
  });

  it('without bookmarks is no sign of life', async () => {
    let isFirst = true;
    const { watch, clock, opened } = await feedOf((write) => {
      if (isFirst) write(mark);
      isFirst = false;
    });
    await until(() => watch.trouble === undefined, 'the bookmark');
    for (let second = 0; second < 31; second++) {
      await clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(watch.trouble).toBe('the platform has sent nothing for 30 seconds');
    // The silent connection was given up, and another one tried.
    expect(opened()).toBeGreaterThan(1);
  });

  it.each([
    ['lines that are no JSON', 'nonsense\n'],
    ['an entry that is not understood', '{"type":"ADDED","object":{}}\n'],
    ['an event of an unknown type', '{"type":"REVOKED","object":{}}\n'],
    ['a fault', '{"type":"ERROR","object":{"message":"gone"}}\n'],
    ['bookmarks before the list is complete', '{"type":"BOOKMARK","object":{"metadata":{}}}\nnonsense\n'],
    ['a line without an end', 'x'.repeat(70_000)],
  ])('with %s is opened again', async (_what, text) => {
    const { clock, opened, watch } = await feedOf((write) => write(text));
    await until(async () => {
      await clock.advance(500);
      return opened() > 2;
    }, 'the next connection');
    expect(watch.trouble).toContain('not known yet');
  });

  it('takes entries in pieces', async () => {
    const line =
      '{"type":"ADDED","object":{"metadata":{"name":"k"},"spec":{"generation":3,"expires":"2026-01-01T01:00:00Z"}}}\n';
    const { taken } = await feedOf(async (write) => {
      for (const letter of line) {
        write(letter);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    await until(() => taken.length === 1, 'the entry');
    expect(taken[0]).toEqual({ key: 'k', generation: 3, expiresMs: Date.parse('2026-01-01T01:00:00Z') });
  });
});

describe('an endpoint without its platform', () => {
  it('goes on for a while, then refuses everything with 503 and closes what is open; and comes back', async () => {
    const bench = await openEndpoint({ silence: 10 });
    endings.push(() => bench.stop());
    bench.behind.answerWith((request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('watch') === true) response.write('{"type":"BOOKMARK","object":{}}\n');
      else response.end('{}');
    });
    const token = await bench.tokenFor('lonely');
    const watch = await bench.open(`${pods}?watch=true`, token);
    await until(() => watch.text().includes('BOOKMARK'), 'the first event');
    await bench.behind.bench.api.close();
    expect((await bench.ask(pods, token)).code).toBe(200);
    bench.clock.moveMonotonic(10_000);
    const refused = await bench.ask(pods, token);
    expect(refused).toMatchObject({ code: 503, text: expect.stringContaining('has sent nothing for 10 seconds') });
    await watch.ended;
    expect(watch.text()).not.toContain('ERROR');
    expect((await bench.ask('/healthz')).code).toBe(200);
    expect((await bench.ask('/readyz')).code).toBe(503);
    await bench.behind.bench.restart();
    await until(async () => (await bench.ask(pods, token)).code === 200, 'the return of the platform');
  });

  it('does not begin to accept tokens before it knows the revocations', async () => {
    const bench = await openEndpoint();
    endings.push(() => bench.stop());
    const token = await bench.tokenFor('early');
    const blind = await bench.endpointWith({ keyFile: '/nowhere/agent.key' });
    const { code, text } = await askAt(blind, pods, token);
    expect([code, text]).toEqual([503, expect.stringContaining('not known yet')]);
    expect(bench.log()).toContain('revocations not followed');
    const narrow = await bench.behind.bench.keyFor('no-agent', { user: 'alice' });
    writeFileSync(bench.keyFile, narrow);
    const wrong = await bench.endpointWith({});
    await until(() => bench.log().includes('needs the role agent'), 'the fault in the log');
    expect(wrong.trouble).toContain('not known yet');
    expect(bench.log()).not.toContain(narrow);
  });

  // It answered 401, which counts as a guess: good clients threw their tokens away and were told to wait.
  it('refuses no token as wrong while it has no keys to judge by', async () => {
    const bench = await openEndpoint();
    endings.push(() => bench.stop());
    const token = await bench.tokenFor('early');
    await bench.behind.bench.api.close();
    const keyless = await bench.endpointWith({});
    await bench.behind.bench.restart();
    await until(() => keyless.trouble?.includes('key set') === true, 'the first revocations');
    const { code, text } = await askAt(keyless, pods, token);
    expect([code, text]).toEqual([503, expect.stringContaining('the key set of the platform is not known yet')]);
    bench.clock.moveMonotonic(refetchMs);
    await until(async () => (await askAt(keyless, pods, token)).code === 200, 'the key set');
  });
});

describe('hostward direct', () => {
  const main = fileURLToPath(new URL('../../../../../src/main.ts', import.meta.url));

  it('serves as a process of its own until it is told to stop', async () => {
    const bench = await openEndpoint();
    endings.push(() => bench.stop());
    const folder = mkdtempSync(join(tmpdir(), 'hostward-direct-process-'));
    endings.push(() => rmSync(folder, { recursive: true, force: true }));
    const { keyFile, certificateAuthority, platform, behind } = bench;
    const port = await freePort();
    const direct = {
      ...{ listen: `127.0.0.1:${port}`, cluster: 'c1', kubeconfig: behind.kubeconfigPath },
      ...{ platform, certificateAuthority, keyFile, dataDir: join(folder, 'data') },
    };
    const configPath = join(folder, 'direct.yaml');
    const listen = `127.0.0.1:${await freePort()}`;
    writeFileSync(configPath, JSON.stringify({ hostward: { direct, listen } }));
    const child: ChildProcess = spawn(process.execPath, [main, 'direct', '--config', configPath]);
    endings.push(() => child.kill('SIGKILL'));
    let output = '';
    child.stdout?.on('data', (part) => {
      output += part;
    });
    child.stderr?.on('data', (part) => {
      output += part;
    });
    await until(() => output.includes('direct endpoint started'), `the start: ${output}`, 20_000);
    const caPem = readFileSync(join(folder, 'data', 'ca.crt'), 'utf8');
    const token = await bench.tokenFor('process');
    const there = { port, caPem } as typeof bench.endpoint;
    await until(async () => (await askAt(there, '/readyz')).code === 200, 'readiness');
    expect((await askAt(there, '/healthz')).code).toBe(200);
    expect((await askAt(there, pods, token)).code).toBe(200);
    const local = async (path: string) => (await fetch(`http://${listen}${path}`)).text();
    await askAt(there, pods, `${token}x`);
    const metrics = await local('/metrics');
    expect(metrics).toMatch(/^hostward_direct_ready 1$/m);
    expect(metrics).toMatch(/^hostward_proxied_requests 0$/m);
    expect(metrics).toMatch(/^hostward_failed_authentications_total 1$/m);
    const [, age = ''] = /^hostward_revocation_feed_age_seconds (.*)$/m.exec(metrics) ?? [];
    expect(Number(age)).toBeLessThan(30);
    expect(await local('/readyz')).toContain('the direct endpoint of c1 accepts tokens');
    expect(JSON.parse(await local('/status'))).toMatchObject({ verdict: { isWell: true }, cluster: 'c1', platform });
    await bench.change('process', { disabled: true });
    await until(async () => (await askAt(there, pods, token)).code === 401, 'the revocation');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    expect(output).not.toContain(token);
  }, 60_000);
});
