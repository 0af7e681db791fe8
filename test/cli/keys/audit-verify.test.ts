import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beginning, chainLine, keyedDigest, plainDigest, readLine } from '../../../src/management/audit/chain/chain.ts';
import { type KeysBench, newFolder, openKeysBench, runIn, runKeys } from './keys-bench.ts';

let bench: KeysBench;
let text: string;

beforeAll(async () => {
  bench = await openKeysBench();
  for (const name of ['one', 'two', 'three']) await bench.local('keys', 'create', name, '--admin');
  await bench.local('keys', 'reattach', 'user/alice', '--uid', 'nothing');
  text = readFileSync(join(bench.folder, 'audit.log'), 'utf8');
});

afterAll(() => bench.stop());

/** The command with these files beside the configuration. */
const verify = (files: Record<string, string>, ...argv: string[]) =>
  runIn(bench.folder, ['audit', 'verify', ...argv], { files });

describe('hostward audit verify', () => {
  it('finds the log whole that the server has written, and prints its last digest', async () => {
    const { code, out } = await verify({ '/home/audit.log': text }, 'audit.log');
    expect(code).toBe(0);
    expect(out).toMatch(/^audit\.log: \d+ lines, whole; last [0-9a-f]{64}\n$/);
  });

  it('looks at the log in dataDir when no file is named', async () => {
    const path = join(bench.folder, 'audit.log');
    const { code, out } = await verify({ [path]: text }, '-o', 'json');
    const { isWhole, files } = JSON.parse(out);
    expect([code, isWhole, files[0].name, files[0].lines]).toEqual([0, true, path, text.split('\n').length - 1]);
  });

  it.each([
    ['a changed line', (lines: string[]) => lines.with(0, (lines[0] as string).replace('admin', 'alice')), 1],
    ['a missing line', (lines: string[]) => lines.toSpliced(2, 1), 3],
    ['two lines that changed places', ([a, b, ...more]: string[]) => [b, a, ...more], 2],
  ])('names the place of %s', async (_what, change, line) => {
    const changed = `${change(text.trimEnd().split('\n')).join('\n')}\n`;
    const { code, out } = await verify({ '/home/audit.log': changed }, 'audit.log');
    expect([code, out.split(': ')[0]]).toEqual([1, `audit.log:${line}`]);
  });

  it('finds a cut-off end when the last digest is known', async () => {
    const { out } = await verify({ '/home/a.log': text }, 'a.log', '-o', 'json');
    const { last } = JSON.parse(out).files[0];
    const cut = `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`;
    expect((await verify({ '/home/a.log': cut }, 'a.log')).code).toBe(0);
    expect((await verify({ '/home/a.log': cut }, 'a.log', '--last', last)).code).toBe(1);
    expect((await verify({ '/home/a.log': text }, 'a.log', '--last', last)).code).toBe(0);
  });

  it('goes from a file that was moved away to the next', async () => {
    const lines = text.trimEnd().split('\n');
    const files = {
      '/home/a.log': `${lines.slice(0, 3).join('\n')}\n`,
      '/home/b.log': `${lines.slice(3).join('\n')}\n`,
    };
    expect((await verify(files, 'a.log', 'b.log')).code).toBe(0);
    const turned = await verify(files, 'b.log', 'a.log');
    expect([turned.code, turned.err]).toEqual([1, expect.stringContaining('compare them with the copies')]);
    const alone = await verify(files, 'b.log');
    expect([alone.code, alone.out.split('\n')[0]]).toEqual([
      0,
      expect.stringMatching(/^lines 1 to 3 are in other files/),
    ]);
  });

  it('tells of files that the server has removed on purpose', async () => {
    const secrets = JSON.parse(readFileSync(join(bench.folder, 'secrets.json'), 'utf8')) as { auditKey: string };
    const key = keyedDigest(Buffer.from(secrets.auditKey, 'base64'));
    const lines = text.trimEnd().split('\n');
    const third = readLine(lines[2] as string, key);
    const last = readLine(lines.at(-1) as string, key);
    const state = { next: (last?.seq ?? 0) + 1, previous: last?.digest ?? '' };
    const entry = {
      time: '2026-01-02T03:04:05.678Z',
      id: 'x',
      stage: 'removed',
      through: 3,
      last: third?.digest,
      files: 1,
    };
    const kept = `${[...lines.slice(3), chainLine(state, entry, key).line].join('\n')}\n`;
    const { code, out } = await verify({ '/home/a.log': kept }, 'a.log');
    expect([code, out.split('\n')[0]]).toEqual([
      0,
      'lines 1 to 3 were removed on 2026-01-02T03:04:05.678Z, as hostward.management.audit.keepFiles wants',
    ]);
  });

  it('does not call a log whole in which a start says that lines were cut off', async () => {
    const secrets = JSON.parse(readFileSync(join(bench.folder, 'secrets.json'), 'utf8')) as { auditKey: string };
    const key = keyedDigest(Buffer.from(secrets.auditKey, 'base64'));
    const last = readLine(text.trimEnd().split('\n').at(-1) as string, key);
    const state = { next: (last?.seq ?? 0) + 1, previous: last?.digest ?? '' };
    const time = '2026-01-02T03:04:05.678Z';
    const entry = { time, id: 'x', stage: 'lost', of: 'audit log', after: last?.seq, seen: state.next + 3 };
    const files = { '/home/a.log': `${text}${chainLine(state, entry, key).line}\n` };
    expect(await verify(files, 'a.log')).toMatchObject({
      code: 1,
      out: expect.stringContaining(
        `the start at ${time} has found the end of the audit log cut off: it ended with line ${last?.seq}, and the store had seen line ${state.next + 3}`,
      ),
    });
    const { out } = await verify(files, 'a.log', '-o', 'json');
    expect(JSON.parse(out)).toMatchObject({ isWhole: false, lost: [{ of: 'audit log', after: last?.seq, time }] });
  });

  it('reads the log of a direct endpoint, and says that nothing proves who wrote it', async () => {
    const { folder } = bench;
    const { line, state } = chainLine(beginning, { id: 'x', stage: 'outcome', code: 200 }, plainDigest);
    const next = chainLine(state, { id: 'y', stage: 'outcome', code: 200 }, plainDigest).line;
    const direct = { cluster: 'c1', platform: 'https://localhost:8443', keyFile: '/agent.key', dataDir: folder };
    const both = { direct, management: { dataDir: bench.folder } };
    const at = (hostward: object, ...argv: string[]) => {
      const files = {
        '/home/h.yaml': JSON.stringify({ hostward }),
        [join(folder, 'audit.log')]: `${line}\n${next}\n`,
        '/home/bad.log': `${line.replace('200', '201')}\n${next}\n`,
      };
      return runKeys(['audit', 'verify', '--config', 'h.yaml', ...argv], { files });
    };
    for (const said of [await at({ direct }), await at(both, '--direct')]) {
      expect(said).toMatchObject({
        code: 0,
        out: expect.stringMatching(/audit\.log: 2 lines, whole; last [0-9a-f]{64}/),
      });
      expect(said.err).toContain('not lines that somebody has written again');
    }
    expect(await at({ direct }, 'bad.log')).toMatchObject({ code: 1, out: 'bad.log:1: the line was changed\n' });
    expect(await at({ management: both.management }, '--direct')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no hostward.direct'),
    });
  });

  it('makes no secrets where there are none', async () => {
    const { folder, remove } = newFolder();
    const { code, err } = await runIn(folder, ['audit', 'verify']);
    expect([code, err.split('\n')[0]]).toEqual([3, expect.stringContaining('there are no secrets in ')]);
    remove();
  });

  it('the log tells of questions that changed an identity, and holds no key', () => {
    expect(text).toContain('/hostward/identities');
    expect(text).not.toMatch(/mpk_/);
  });
});
