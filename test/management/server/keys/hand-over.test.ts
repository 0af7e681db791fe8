// What goes over with the value of a key: nobody makes or rotates a key that has more than the calling key.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, keysPath, movedClock, openBench } from '../bench.ts';

const cidrs = 'hostward.dev/allowed-cidrs';
const clock = movedClock();
let bench: Bench;

beforeAll(async () => {
  bench = await openBench({ clock });
});
afterAll(() => bench.stop());

function make(name: string, metadata: object, spec: object = {}, key = bench.admin) {
  return bench.ask('POST', keysPath, { key, body: { metadata: { name, ...metadata }, spec } });
}

function rotate(name: string, key: string) {
  return bench.ask('POST', `${keysPath}/${name}/rotate`, { key, body: { spec: {} } });
}

describe('the value of a key', () => {
  it('is not given to an owner whose own key lacks a group that an administrator granted', async () => {
    const plain = await bench.keyFor('plain', { user: 'alice' });
    const strong = await bench.keyFor('strong', { user: 'alice', groups: ['masters'] });
    expect(await rotate('strong', plain)).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining('an administrator granted "masters" to this key'),
        details: { causes: [{ field: 'spec.groups[0]' }] },
      },
    });
    // The key itself, one that has the group too, and an administrator get it.
    expect(await rotate('strong', strong)).toMatchObject({ code: 201 });
    expect(await rotate('strong', bench.admin)).toMatchObject({ code: 201 });
    await bench.keyFor('held', { user: 'alice', groups: ['devs'] });
    expect(await rotate('held', plain)).toMatchObject({ code: 201 });
  });

  it('is not made for a key that is over for good', async () => {
    await make('leaving', { finalizers: ['example.com/wait'] }, { user: 'alice' });
    await bench.ask('DELETE', `${keysPath}/leaving`);
    await make('brief', {}, { user: 'alice', ttl: 60 });
    clock.moveSeconds(61);
    for (const [name, why] of [
      ['leaving', 'the key is being deleted'],
      ['brief', 'the key has expired'],
    ] as const)
      expect(await rotate(name, bench.admin)).toMatchObject({
        code: 422,
        body: {
          message: expect.stringContaining(`${why}, and a new value would open nothing; delete it, and make a new key`),
        },
      });
    clock.moveSeconds(-61);
  });

  it('is not given to a key that may be used from fewer networks', async () => {
    const made = await make('near', { annotations: { [cidrs]: '127.0.0.0/8' } }, { user: 'alice' });
    const near = String(made.body['spec']?.['key']);
    await bench.keyFor('far', { user: 'alice' });
    expect(await rotate('far', near)).toMatchObject({
      code: 403,
      body: { details: { causes: [{ field: `metadata.annotations[${cidrs}]` }] } },
    });
    expect(await make('farther', { annotations: { [cidrs]: '0.0.0.0/0' } }, {}, near)).toMatchObject({
      code: 403,
      body: { message: expect.stringContaining('must lie inside the networks of the calling key, 127.0.0.0/8') },
    });
    expect(await make('nearer', { annotations: { [cidrs]: '127.0.0.1/32' } }, {}, near)).toMatchObject({ code: 201 });
  });

  it('of a new key is good in the networks of the calling key alone, also when nothing is said of them', async () => {
    const made = await make('inside', { annotations: { [cidrs]: '127.0.0.0/8' } }, { user: 'alice' });
    const copied = await make('copied', {}, {}, String(made.body['spec']?.['key']));
    expect(copied).toMatchObject({ code: 201, body: { metadata: { annotations: { [cidrs]: '127.0.0.0/8' } } } });
    expect(JSON.stringify(copied.headers['warning'])).toContain('set to 127.0.0.0/8');
  });

  it('of a scoped key is good only where the key that made it is', async () => {
    const scope = { rules: [{}] };
    const maker = await bench.keyFor('maker', { user: 'alice', scope });
    const child = String((await make('child', {}, { scope }, maker)).body['spec']?.['key']);
    expect((await bench.ask('GET', keysPath, { key: child })).code).toBe(200);
    const body = { metadata: { annotations: { [cidrs]: '10.0.0.0/8' } } };
    const type = 'application/merge-patch+json';
    expect(await bench.ask('PATCH', `${keysPath}/maker`, { body, type })).toMatchObject({ code: 200 });
    expect(await bench.ask('GET', keysPath, { key: child })).toMatchObject({
      code: 401,
      body: { message: 'the access key is not valid from your address' },
    });
  });
});
