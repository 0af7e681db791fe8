import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { longestTokenTTL } from '../../../../src/management/credentials/claims/claims.ts';
import { lateSeconds } from '../../../../src/management/credentials/claims/verify-token.ts';
import {
  keySetMaxAgeSeconds,
  publishedAheadMs,
  rotateEveryMs,
  TokenKeys,
} from '../../../../src/management/credentials/tokens/token-keys.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostward-token-keys-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const startMs = Date.parse('2026-01-01T00:00:00Z');
const dayMs = 86_400_000;

async function keyIdOf(keys: TokenKeys, nowMs: number): Promise<string> {
  const [header = ''] = (await keys.sign({}, nowMs)).split('.');
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid;
}

describe('the keys that sign tokens', () => {
  it('over a hundred days no token is made that a verifier with an older key set refuses, nor one that loses its key (at length)', async () => {
    let keys = await TokenKeys.open(folder, startMs);
    const published: { atMs: number; kids: Set<string> }[] = [];
    const made: { kid: string; atMs: number }[] = [];
    const stepMs = 5 * 60_000;
    for (let nowMs = startMs; nowMs < startMs + 100 * dayMs; nowMs += stepMs) {
      await keys.keepUp(nowMs);
      if ((nowMs - startMs) % (10 * dayMs) === 0) keys = await TokenKeys.open(folder, nowMs);
      published.push({ atMs: nowMs, kids: new Set(keys.keySet.keys()) });
      if (published.length > 3) published.shift();
      const kid = await keyIdOf(keys, nowMs);
      const older = published.filter(({ atMs }) => nowMs - atMs <= keySetMaxAgeSeconds * 1000);
      expect(
        older.every(({ kids }) => kids.has(kid)),
        `a verifier at day ${(nowMs - startMs) / dayMs}`,
      ).toBe(true);
      if ((nowMs - startMs) % 3_600_000 === 0) made.push({ kid, atMs: nowMs });
      const lifeMs = (longestTokenTTL + lateSeconds) * 1000;
      while (made[0] !== undefined && made[0].atMs + lifeMs < nowMs) made.shift();
      expect(made.every((token) => keys.keySet.has(token.kid))).toBe(true);
      expect(keys.keySet.size).toBeLessThanOrEqual(3);
    }
    expect(rotateEveryMs).toBeLessThan(100 * dayMs);
  }, 60_000);

  it('rotation by hand publishes at once and signs later', async () => {
    const keys = await TokenKeys.open(folder, startMs);
    const before = await keyIdOf(keys, startMs);
    await Promise.all([keys.rotate(startMs), keys.keepUp(startMs)]);
    expect(keys.keySet.size).toBe(2);
    expect(await keyIdOf(keys, startMs + publishedAheadMs - 1)).toBe(before);
    const after = await keyIdOf(keys, startMs + publishedAheadMs);
    expect(after).not.toBe(before);
    const again = await TokenKeys.open(folder, startMs);
    expect([...again.keySet.keys()]).toEqual([...keys.keySet.keys()]);
    expect(JSON.stringify(keys.document)).not.toContain('"d"');
  });

  it('a damaged file is told, and not replaced', async () => {
    await TokenKeys.open(folder, startMs);
    const path = join(folder, 'token-keys.json');
    for (const text of ['', '{}', '{"keys":[{"privateKey":"x"}]}']) {
      writeFileSync(path, text);
      await expect(TokenKeys.open(folder, startMs)).rejects.toThrow(
        /want the keys that sign tokens, the file is damaged/,
      );
      expect(readFileSync(path, 'utf8')).toBe(text);
    }
  });
});
