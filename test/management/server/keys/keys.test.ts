import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, openBench, people } from '../bench.ts';

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

  it.each([
    { full: 'its owner has no byte left', name: 'full', perOwner: 2, refusal: 403 },
    { full: 'it is as long as an object may be', name: 'longest', perOwner: 100, refusal: 413 },
  ])(
    'can be disabled by an administrator when $full, and its owner cannot make it longer',
    async ({ name, perOwner, refusal }) => {
      const { ask } = bench;
      await bench.api.apply({ ...people, keys: { ...people.keys, perOwner } });
      const alice = await bench.keyFor(name, { user: 'alice' });
      const change = (note: number | undefined, disabled: boolean, key?: string) =>
        ask('PATCH', `${keysPath}/${name}`, {
          type: 'application/merge-patch+json',
          body: { spec: { disabled }, metadata: note === undefined ? {} : { annotations: { note: 'x'.repeat(note) } } },
          ...(key !== undefined && { key }),
        });
      let [fits, tooLong] = [0, 40_000];
      while (tooLong - fits > 1) {
        const length = (fits + tooLong) >> 1;
        const { code } = await change(length, false, alice);
        expect([200, refusal]).toContain(code);
        if (code === 200) fits = length;
        else tooLong = length;
      }
      expect(fits).toBeGreaterThan(1_000);
      expect((await change(tooLong + 1_000, true, alice)).code).toBe(refusal);
      expect((await change(undefined, true)).code).toBe(200);
      expect((await ask('GET', keysPath, { key: alice })).code).toBe(401);
      expect((await change(undefined, false)).code).toBe(200);
      expect((await ask('GET', keysPath, { key: alice })).code).toBe(200);
    },
  );

  it('can be disabled by an administrator when it has as many managers and annotations as an object may have', async () => {
    const alice = await bench.keyFor('crowded', { user: 'alice' });
    const type = 'application/merge-patch+json';
    const codes = new Set<number>();
    for (let n = 0; n < 70; n++) {
      const body = { metadata: { annotations: { [`note-${n}`]: 'x' } } };
      const path = `${keysPath}/crowded?fieldManager=m${n}`;
      codes.add((await bench.ask('PATCH', path, { type, body, key: alice })).code);
    }
    expect(codes).toEqual(new Set([200, 422]));
    const disabled = await bench.ask('PATCH', `${keysPath}/crowded?fieldManager=another`, {
      type,
      body: { spec: { disabled: true } },
    });
    expect([disabled.code, disabled.text]).toEqual([200, expect.any(String)]);
    expect((await bench.ask('GET', keysPath, { key: alice })).code).toBe(401);
  });
});
