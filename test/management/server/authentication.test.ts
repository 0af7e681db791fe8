import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownTime } from '../../own-time.ts';
import { type Bench, keysPath, movedClock, openBench, until } from './bench.ts';

let bench: Bench;
const clock = movedClock();
beforeAll(async () => {
  bench = await openBench({ clock });
});
afterAll(() => bench.stop());

const merge = 'application/merge-patch+json';

function change(name: string, spec: object, key = bench.admin) {
  return bench.ask('PATCH', `${keysPath}/${name}`, { type: merge, body: { spec }, key });
}

async function codeOf(key: string): Promise<number> {
  return (await bench.ask('GET', '/kubernetes/management/api', { key })).code;
}

describe('authentication by access keys', () => {
  it('no credentials, unknown ones and another scheme are one and the same 401', async () => {
    const unknown = `mpk_${'0'.repeat(17)}_${'0'.repeat(49)}`;
    const none = await bench.ask('GET', keysPath, { key: undefined });
    expect(none).toMatchObject({
      code: 401,
      body: { kind: 'Status', message: 'Unauthorized', reason: 'Unauthorized', code: 401 },
    });
    expect(none.body).not.toHaveProperty('details');
    for (const authorization of [
      'Bearer nonsense',
      `Bearer ${unknown}`,
      'Basic YTpi',
      'Bearer ',
      `Token ${bench.admin}`,
    ])
      expect(await bench.ask('GET', keysPath, { key: undefined, headers: { authorization } })).toMatchObject({
        code: 401,
        text: none.text,
      });
  });

  it('the scheme may be written in lower case', async () => {
    const headers = { authorization: `bearer ${bench.admin}` };
    expect(await bench.ask('GET', keysPath, { key: undefined, headers })).toMatchObject({ code: 200 });
  });

  it('no caller acts for another user', async () => {
    const answer = await bench.ask('GET', keysPath, { headers: { 'impersonate-user': 'bob' } });
    expect(answer).toMatchObject({ code: 403, body: { reason: 'Forbidden' } });
  });

  it('health and version need no key, discovery does', async () => {
    for (const path of [
      '/livez',
      '/readyz/management',
      '/kubernetes/management/healthz',
      '/kubernetes/management/version',
    ])
      expect(await bench.ask('GET', path, { key: undefined })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', '/kubernetes/management/apis', { key: undefined })).toMatchObject({ code: 401 });
  });

  it('a disabled key is refused at once, its watch ends within a second, and it can be enabled', async () => {
    const key = await bench.keyFor('switched', { user: 'alice' });
    const watch = await bench.follow(`${keysPath}?watch=true`, key);
    await until(() => watch.events.length > 0, 'the first event');
    const tookMs = ownTime();
    expect(await change('switched', { disabled: true })).toMatchObject({ code: 200 });
    const refused = await bench.ask('GET', keysPath, { key });
    expect(refused).toMatchObject({ code: 401, body: { message: 'the access key is disabled' } });
    await watch.ended;
    expect(tookMs()).toBeLessThan(1_000);
    const because = { code: 401, reason: 'Unauthorized', message: 'the access key is disabled' };
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: because });
    expect(await change('switched', { disabled: false })).toMatchObject({ code: 200 });
    expect(await codeOf(key)).toBe(200);
  });

  it('what an administrator disabled only an administrator enables', async () => {
    const alice = await bench.keyFor('alice-main', { user: 'alice' });
    await bench.keyFor('stopped', { user: 'alice' });
    await change('stopped', { disabled: true });
    expect(await change('stopped', { disabled: false }, alice)).toMatchObject({
      code: 403,
      body: { details: { causes: [{ field: 'spec.disabled' }] } },
    });
  });

  it.each([
    ['a merge patch', 'application/merge-patch+json', { spec: { disabled: true } }],
    ['a merge patch with more', 'application/merge-patch+json', { spec: { disabled: true, displayName: 'leaked' } }],
    ['a JSON patch', 'application/json-patch+json', [{ op: 'replace', path: '/spec/disabled', value: true }]],
    [
      'an apply',
      'application/apply-patch+yaml',
      { apiVersion: 'management.platform/v1', kind: 'OwnedAccessKey', spec: { disabled: true } },
    ],
  ])(
    'an administrator disables a key for good with %s although its owner has disabled it before',
    async (what, type, body) => {
      const name = what.replaceAll(' ', '-').toLowerCase();
      const alice = await bench.keyFor(`${name}-1`, { user: 'alice' });
      await bench.keyFor(name, { user: 'alice' });
      expect(await change(name, { disabled: true }, alice)).toMatchObject({ code: 200 });
      // Who only describes the key has not disabled it.
      expect(await change(name, { description: 'found in a log' })).toMatchObject({ code: 200 });
      expect(await change(name, { disabled: false }, alice)).toMatchObject({ code: 200 });
      expect(await change(name, { disabled: true }, alice)).toMatchObject({ code: 200 });
      const path = `${keysPath}/${name}?${type.includes('apply') ? 'fieldManager=me' : ''}`;
      const metadata = type.includes('apply') ? { metadata: { name } } : {};
      const sent = Array.isArray(body) ? body : { ...body, ...metadata };
      const answer = await bench.ask('PATCH', path, { type, body: sent });
      expect(answer.body.metadata?.['annotations']).toMatchObject({
        'hostward.dev/disabled-by': 'administrator:admin',
      });
      expect((await change(name, { disabled: false }, alice)).code).toBe(403);
      expect((await change(name, { disabled: true }, alice)).code).toBe(200);
      const after = await bench.ask('PATCH', path, { type, body: sent });
      expect(after.body.metadata?.['resourceVersion']).toBe(answer.body.metadata?.['resourceVersion']);
      expect(await change(name, { disabled: false })).toMatchObject({ code: 200 });
    },
  );

  it('a key ends by its ttl, by its last use, and stays dead', async () => {
    const fixed = await bench.keyFor('fixed', { user: 'alice', ttl: 100 });
    const sliding = await bench.keyFor('sliding', { user: 'alice', ttl: 100, ttlAfterLastActivity: true });
    clock.moveSeconds(90);
    expect([await codeOf(fixed), await codeOf(sliding)]).toEqual([200, 200]);
    clock.moveSeconds(90);
    expect([await codeOf(fixed), await codeOf(sliding)]).toEqual([401, 200]);
    const answer = await bench.ask('GET', keysPath, { key: fixed });
    expect(answer.body.message).toBe('the access key has expired');
    expect(await change('fixed', { ttl: 1000 })).toMatchObject({ code: 422 });
    expect(await codeOf(fixed)).toBe(401);
  });

  it('a use moves lastActivity and no resourceVersion; a failure moves neither', async () => {
    const key = await bench.keyFor('used', { user: 'alice' });
    const read = async () => (await bench.ask('GET', `${keysPath}/used`)).body;
    const before = await read();
    const unused = { phase: 'Active', conditions: [{ type: 'Ready', status: 'True', reason: 'Active' }] };
    expect(before['status']).toEqual(unused);
    // The secret may end with any letter.
    await bench.ask('GET', keysPath, { key: key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a')) });
    expect((await read())['status']).toEqual(unused);
    await codeOf(key);
    const after = await read();
    expect(after['status']).toEqual({ ...unused, lastActivity: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(after['metadata']?.['resourceVersion']).toBe(before['metadata']?.['resourceVersion']);
    const put = { ...before, spec: { ...before['spec'], displayName: 'after the use' } };
    expect(await bench.ask('PUT', `${keysPath}/used`, { body: put })).toMatchObject({ code: 200 });
  });

  it('a user who is disabled in the configuration has no good key', async () => {
    const key = await bench.keyFor('carols', { user: 'carol' });
    expect(await bench.ask('GET', keysPath, { key })).toMatchObject({ code: 401 });
  });

  it('the audit log holds each write, its subject and its end, and no secret', async () => {
    const key = await bench.keyFor('audited', { user: 'alice' });
    await bench.ask('DELETE', `${keysPath}/audited`, { key });
    const text = readFileSync(join(bench.folder, 'audit.log'), 'utf8');
    expect(text).not.toContain(key.slice(22));
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const asked = lines.findLast(
      ({ request }) => String(request).startsWith('delete') && String(request).includes('audited'),
    );
    expect(asked).toMatchObject({ stage: 'intent', subject: { kind: 'user', name: 'alice', key: 'audited' } });
    expect(lines.find(({ id, stage }) => id === asked?.['id'] && stage === 'outcome')).toMatchObject({ code: 200 });
    const database = readFileSync(join(bench.folder, 'keys.db')).toString('latin1');
    expect(database).not.toContain(key.slice(22));
  });

  it('each answer bears the id that is in the audit log, the one of the client if there is one', async () => {
    const made = await bench.ask('POST', keysPath, {
      body: { metadata: { name: 'with-id' }, spec: { user: 'alice' } },
    });
    const id = String(made.headers['audit-id']);
    expect(readFileSync(join(bench.folder, 'audit.log'), 'utf8')).toContain(`"id":"${id}"`);
    const named = await bench.ask('GET', keysPath, { headers: { 'audit-id': 'pipeline-7' } });
    expect(named.headers['audit-id']).toBe('pipeline-7');
    const odd = await bench.ask('GET', keysPath, { headers: { 'audit-id': 'a b"c' } });
    expect(odd.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('a new value ends the old one, at once or after the overlap', async () => {
    const first = await bench.keyFor('rotated', { user: 'alice' });
    const turn = (spec: object) => bench.ask('POST', `${keysPath}/rotated/rotate`, { body: { spec } });
    const made = await turn({});
    expect(made).toMatchObject({ code: 201, body: { kind: 'OwnedAccessKeyRotation' } });
    const second = String(made.body['status']?.['key']);
    expect([await codeOf(first), await codeOf(second)]).toEqual([401, 200]);
    const third = String((await turn({ overlapSeconds: 60 })).body['status']?.['key']);
    expect([await codeOf(second), await codeOf(third)]).toEqual([200, 200]);
    clock.moveSeconds(59);
    // It would end the value that the first rotation promised to keep.
    expect(await turn({ overlapSeconds: 60 })).toMatchObject({
      code: 409,
      body: { message: expect.stringMatching(/an earlier value stays valid until \S+Z; rotate again then/) },
    });
    expect([await codeOf(second), await codeOf(third)]).toEqual([200, 200]);
    clock.moveSeconds(2);
    expect([await codeOf(second), await codeOf(third)]).toEqual([401, 200]);
    expect(await turn({ overlapSeconds: 60 })).toMatchObject({ code: 201 });
    const ending = await turn({});
    expect(ending).toMatchObject({ code: 201 });
    expect(ending.headers['warning']).toContain('hostward keys list --made-by key:rotated');
    expect(await codeOf(third)).toBe(401);
    expect(await turn({ overlapSeconds: -1 })).toMatchObject({ code: 422 });
  });

  it('a watch of the old value goes on through an overlap, and ends with it', async () => {
    const key = await bench.keyFor('turning', { user: 'alice' });
    const watch = await bench.follow(`${keysPath}?watch=true&fieldSelector=metadata.name%3Dturning`, key);
    await until(() => watch.events.length > 0, 'the first event');
    const body = { spec: { overlapSeconds: 60 } };
    expect(await bench.ask('POST', `${keysPath}/turning/rotate`, { body })).toMatchObject({ code: 201 });
    expect(await change('turning', { description: 'after the rotation' })).toMatchObject({ code: 200 });
    const isHeard = () =>
      watch.events.some(({ object }) => JSON.stringify(object).includes('"description":"after the rotation"'));
    await until(isHeard, 'the event of a change after the rotation');
    expect(watch.events.map(({ type }) => type)).not.toContain('ERROR');
    clock.moveSeconds(61);
    await watch.ended;
    const because = { code: 401, message: 'the value of the access key was rotated' };
    expect(watch.events.at(-1)).toMatchObject({ type: 'ERROR', object: because });
  });

  it('many bad credentials from one address are told to wait, and a good key is not', async () => {
    const codes: number[] = [];
    for (let count = 0; count < 40; count++) codes.push((await bench.ask('GET', keysPath, { key: 'wrong' })).code);
    expect(codes).toContain(429);
    const slowed = await bench.ask('GET', keysPath, { key: 'wrong' });
    expect(Number(slowed.headers['retry-after'])).toBeGreaterThan(0);
    expect(await codeOf(bench.admin)).toBe(200);
  });
});
