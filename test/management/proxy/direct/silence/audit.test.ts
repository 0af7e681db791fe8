import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../../../src/apiserver/tls/certificates.ts';
import { type Clock, systemClock } from '../../../../../src/clock.ts';
import { silentLog } from '../../../../../src/log.ts';
import { chainFiles } from '../../../../../src/management/audit/chain/chain-file.ts';
import { AuditFile } from '../../../../../src/management/proxy/direct/audit-file.ts';
import { answerWithinMs, PlatformClient } from '../../../../../src/management/proxy/direct/platform-client.ts';
import { maxWaitingLines, type Posted, Uploads } from '../../../../../src/management/proxy/direct/uploads.ts';
import { VirtualClock } from '../../../../virtual-clock.ts';
import { movedClock, until } from '../../../server/bench.ts';

const endings: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describe('a platform that stops in the middle of an answer', () => {
  it('holds up neither the key set nor the audit lines', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-platform-'));
    endings.push(() => rmSync(folder, { recursive: true, force: true }));
    const { certPem, keyPem, caPem } = await makeServingCertificate('platform', ['localhost'], new Date());
    const [certificateAuthority, keyFile] = [join(folder, 'ca'), join(folder, 'key')];
    writeFileSync(certificateAuthority, caPem);
    writeFileSync(keyFile, 'key');
    const server = createTlsServer({ cert: certPem, key: keyPem }, (_request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('{');
    });
    endings.push(() => server.closeAllConnections() ?? server.close());
    await once(server.listen(0, 'localhost'), 'listening');
    const platform = `https://localhost:${(server.address() as AddressInfo).port}`;
    const moved = movedClock();
    let limits = 0;
    const after: Clock['after'] = (delayMs, run) => {
      limits++;
      return moved.after(delayMs, run);
    };
    const clock = { ...moved, after };
    const client = new PlatformClient({ platform, certificateAuthority, keyFile, cluster: 'c1', clock });
    for (const ask of [() => client.keySet(), () => client.report({ entries: [] })]) {
      limits = 0;
      const asked = ask().catch((fault: Error) => fault.message);
      await until(() => limits === 2, 'a limit for the head and one for the body');
      clock.fire(answerWithinMs);
      expect(await asked).toMatch(/^want the whole answer within 5 seconds/);
    }
    const keyless = new PlatformClient({ platform, certificateAuthority, keyFile: 'absent.key', cluster: 'c1', clock });
    await expect(keyless.revocations()).rejects.toThrow(
      'hostward.direct.keyFile is "absent.key": there is no such file; write an access key of the role agent into it',
    );
  });
});

describe('the audit while the platform does not take it', () => {
  const outcome = (id: number) => ({
    time: '2026-01-01T00:00:00.000Z',
    id: `r${id}`,
    stage: 'outcome' as const,
    code: 201,
  });

  function scene() {
    const clock = new VirtualClock('2026-01-01T00:00:00Z');
    const posts: { what: string; ids: string[] }[] = [];
    const sent: string[] = [];
    const state: { answer: () => Posted } = { answer: () => ({ kind: 'taken' }) };
    const uploads = new Uploads({
      async report({ entries = [], uses = [] }) {
        const ids = [...entries.map(({ id }) => id), ...uses.map(({ key }) => key)];
        posts.push({ what: uses.length > 0 ? 'uses' : 'entries', ids });
        return state.answer();
      },
      async sent({ id }) {
        sent.push(id);
      },
      clock,
      log: silentLog,
    });
    return { clock, posts, sent, state, uploads };
  }

  it('tries again with growing pauses, and sends everything in order, in batches', async () => {
    const { clock, posts, sent, state, uploads } = scene();
    state.answer = () => {
      throw new Error('connect ECONNREFUSED');
    };
    for (let id = 1; id <= 501; id++) uploads.offer(outcome(id));
    uploads.used('key-uid', 0);
    await clock.advance(10_000);
    // After 1, 2, 4 and 8 seconds.
    expect(posts).toHaveLength(4);
    state.answer = () => ({ kind: 'refused', code: 403, message: 'no right' });
    await clock.advance(60_000);
    expect(uploads.waiting).toBe(501);
    posts.length = 0;
    state.answer = () => ({ kind: 'taken' });
    await clock.advance(60_000);
    expect(posts.map(({ what, ids }) => `${what} ${ids.length} ${ids.at(-1)}`)).toEqual([
      'entries 500 r500',
      'entries 1 r501',
      'uses 1 key-uid',
    ]);
    expect(sent).toEqual(['r500', 'r501']);
    expect([uploads.waiting, uploads.lost]).toEqual([0, 0]);
  });

  it('leaves out a batch that the platform finds wrong, and the oldest lines beyond the limit', async () => {
    const { clock, posts, sent, state, uploads } = scene();
    for (let id = 0; id < maxWaitingLines + 3; id++) uploads.offer(outcome(id));
    expect([uploads.waiting, uploads.lost]).toEqual([maxWaitingLines, 3]);
    state.answer = () => (posts.length === 1 ? { kind: 'refused', code: 400, message: 'wrong' } : { kind: 'taken' });
    await clock.advance(1_000);
    await until(() => uploads.waiting === 0, 'the other batches');
    expect(posts[0]?.ids[0]).toBe('r3');
    expect([uploads.lost, posts.length, sent.length]).toEqual([503, 20, 20]);
  });

  it('finds after a start the lines that were not sent, and goes on without files where it cannot write', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-audit-'));
    endings.push(() => rmSync(folder, { recursive: true }));
    const isSent = ({ kind }: { kind: string }) => kind === 'Cluster';
    const first = new AuditFile({ folder, clock: systemClock, log: silentLog, isSent });
    expect(await first.start()).toEqual([]);
    const common = { subject: { kind: 'user' as const, name: 'a', key: 'k' }, source: '', request: '', url: '' };
    const foreign = { ...outcome(9), ...common, stage: 'intent' as const, target: { kind: 'Management' as const } };
    for (const entry of [outcome(1), outcome(2), foreign, outcome(9), outcome(3)]) await first.append(entry);
    await first.sent(outcome(1));
    await first.stop();
    const second = new AuditFile({ folder, clock: systemClock, log: silentLog, isSent });
    expect(await second.start()).toEqual([outcome(2), outcome(3)]);
    await second.stop();
    writeFileSync(join(folder, 'file'), '');
    const none = new AuditFile({ folder: join(folder, 'file', 'below'), clock: systemClock, log: silentLog, isSent });
    expect(await none.start()).toEqual([]);
    await none.append(outcome(1));
    await none.sent(outcome(1));
    await none.stop();
  });
});

describe('the files of the audit', () => {
  it('are bounded: the oldest go, a line says so, and the platform does not get this line', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-audit-'));
    endings.push(() => rmSync(folder, { recursive: true }));
    // Room for four lines: a file that one line about a removal fills would lead to the next removal, and so on.
    const options = { folder, clock: systemClock, log: silentLog, isSent: () => true, maxBytes: 1_000 };
    const file = new AuditFile(options);
    await file.start();
    const outcome = (id: number) => ({
      time: '2026-01-01T00:00:00.000Z',
      id: `r${id}`,
      stage: 'outcome' as const,
      code: 201,
    });
    for (let id = 0; id < 60; id++) await file.append(outcome(id));
    await file.stop();
    const files = await chainFiles(folder, 'audit');
    // Ten full files and the open one; the last removal may still be on its way.
    expect(files.length).toBeLessThanOrEqual(12);
    const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
    expect(text).toContain('"stage":"removed"');
    const again = new AuditFile(options);
    const unsent = await again.start();
    await again.stop();
    expect(unsent.at(-1)).toEqual(outcome(59));
    expect(unsent.filter(({ stage }) => stage === 'removed')).toEqual([]);
  });
});
