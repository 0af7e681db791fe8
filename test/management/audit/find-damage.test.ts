import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { createLog } from '../../../src/log.ts';
import { keyedDigest } from '../../../src/management/audit/chain/chain.ts';
import { ChainFile, chainFiles } from '../../../src/management/audit/chain/chain-file.ts';
import { openForDamage } from '../../../src/management/audit/chain/find-damage.ts';
import { verifyFiles } from '../../../src/management/audit/chain/verify.ts';
import { AuditFile } from '../../../src/management/proxy/direct/audit-file.ts';
import { openBench, until } from '../server/bench.ts';

const digest = keyedDigest(Buffer.from('a key of the audit log'));

let folder: string;
let names: string[];
/** Four files of which the first are longer than a piece that is read at a time, with letters of several bytes. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-damage-'));
  const file = new ChainFile({ folder, name: 'audit', digest, maxBytes: 400 * 1024 });
  await file.start();
  for (let batch = 0; batch < 16; batch++)
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => file.append({ id: `${batch}-${at}`, text: 'ä€😀'.repeat(250) })),
    );
  await file.stop();
  names = await chainFiles(folder, 'audit');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const find = async (isStopping = () => false) =>
  (await openForDamage({ folder, name: 'audit', digest, clock: systemClock, isStopping }))();

describe('the look for damage at the start', () => {
  it('finds none in a log that is whole', async () => {
    expect(names.length).toBeGreaterThan(3);
    expect(await find()).toBeUndefined();
  });

  it('finds the same line as the whole verification, whatever was changed or taken out', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(names.length - 1),
        fc.double({ min: 0, max: 0.99, noNaN: true }),
        fc.constantFrom('change', 'cut', 'line'),
        async (which, share, how) => {
          const name = names[which] as string;
          const path = join(folder, name);
          const before = readFileSync(path);
          writeFileSync(path, damaged(before, share, how));
          const files = names.map((one) => ({ name: one, read: async () => readFileSync(join(folder, one), 'utf8') }));
          const [broken] = (await verifyFiles(files, { digest })).flatMap(({ name: file, result }) =>
            result.kind === 'broken' ? [{ file, line: result.line, reason: result.reason }] : [],
          );
          const found = await find();
          writeFileSync(path, before);
          expect(broken).toBeDefined();
          expect(found).toEqual(broken);
        },
      ),
      { numRuns: 12 },
    );
  });

  it('ends at once when the server stops', async () => {
    const path = join(folder, names[0] as string);
    const before = readFileSync(path);
    writeFileSync(path, damaged(before, 0.9, 'change'));
    expect(await find(() => true)).toBeUndefined();
    writeFileSync(path, before);
  });

  it('is reported by the server in its log and in the first line of its status', async () => {
    const lines: string[] = [];
    const log = createLog({ level: 'error', destination: { write: (line) => lines.push(line) } });
    const bench = await openBench({ log });
    await bench.keyFor('one', { user: 'alice' });
    await bench.keyFor('two', { user: 'alice' });
    const path = join(bench.folder, 'audit.log');
    await bench.restart();
    expect(bench.api.status().troubles).toBeUndefined();
    await bench.api.close();
    writeFileSync(path, readFileSync(path, 'utf8').replace('"code":201', '"code":403'));
    await bench.restart();
    await until(() => bench.api.status().troubles !== undefined, 'the damage in the status');
    expect(bench.api.status().troubles).toEqual([
      expect.stringMatching(
        /^the audit log was damaged before the start: audit\.log:\d+: the line was changed; .*audit verify$/,
      ),
    ]);
    expect(lines.join('')).toContain('"reason":"the line was changed"');
    await bench.stop();
  });

  it('is reported by a direct endpoint in its log', async () => {
    const place = mkdtempSync(join(tmpdir(), 'hostward-damage-'));
    const lines: string[] = [];
    const log = createLog({ level: 'error', destination: { write: (line) => lines.push(line) } });
    const options = { folder: place, clock: systemClock, log, isSent: () => true };
    const common = { time: '2026-01-02T03:04:05Z', stage: 'streamStart' as const };
    const first = new AuditFile(options);
    await first.start();
    for (const id of ['a', 'b', 'c']) await first.append({ ...common, id });
    await first.stop();
    const path = join(place, 'audit.log');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"id":"b"', '"id":"x"'));
    const second = new AuditFile(options);
    await second.start();
    await until(() => lines.length > 0, 'the damage in the log');
    expect(lines[0]).toContain('audit.log:2: the line was changed');
    await second.stop();
    rmSync(place, { recursive: true });
  });
});

function damaged(whole: Buffer, share: number, how: string): Buffer {
  const at = Math.floor(share * whole.length);
  const line = whole.indexOf(0x0a, at);
  switch (how) {
    case 'cut':
      return Buffer.concat([whole.subarray(0, at), whole.subarray(Math.min(at + 50, whole.length - 1))]);
    case 'line': {
      const next = whole.indexOf(0x0a, line + 1);
      // Nothing shows that the last line of all is gone.
      if (next < 0) return damaged(whole, share, 'change');
      return Buffer.concat([whole.subarray(0, line), whole.subarray(next)]);
    }
    default: {
      const changed = Buffer.from(whole);
      const place = whole[at] === 0x0a ? at + 1 : at;
      changed[place] = changed[place] === 0x78 ? 0x79 : 0x78;
      return changed;
    }
  }
}
