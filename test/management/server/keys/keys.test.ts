import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, openBench } from '../bench.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.stop());

describe('an access key, from its creation to its end', () => {
  it('is returned once, and no later answer shows it', async () => {
    const made = await bench.ask('POST', keysPath, { body: { metadata: { name: 'first' }, spec: { user: 'alice' } } });
    expect(made.code).toBe(201);
    expect(made.headers['cache-control']).toContain('no-store');
    expect(made.body['spec']?.['key']).toMatch(/^mpk_/);
    const secret = String(made.body['spec']?.['key']);
    for (const path of [`${keysPath}/first`, keysPath]) {
      const { text, code } = await bench.ask('GET', path);
      expect(code).toBe(200);
      expect(text).not.toContain(secret);
      expect(text).not.toContain('hidden');
    }
    const changed = await bench.ask('PATCH', `${keysPath}/first`, {
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { a: 'b' } } },
    });
    expect(changed).toMatchObject({ code: 200, body: { metadata: { labels: { a: 'b' } } } });
    expect(changed.text).not.toContain(secret);
    expect(await bench.ask('GET', keysPath, { key: secret })).toMatchObject({ code: 200 });
    const gone = await bench.ask('DELETE', `${keysPath}/first`);
    expect(gone).toMatchObject({ code: 200, body: { status: 'Success' } });
    expect(await bench.ask('GET', keysPath, { key: secret })).toMatchObject({ code: 401 });
  });

  it('keeps its keys over a restart', async () => {
    const secret = await bench.keyFor('lasting', { user: 'alice' });
    await bench.restart();
    expect(await bench.ask('GET', `${keysPath}/lasting`, { key: secret })).toMatchObject({ code: 200 });
  });
});
