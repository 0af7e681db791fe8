// Somebody else writes between the moment when a verb has read an object and the moment when it writes it: admission runs just there.
import { describe, expect, it } from 'vitest';
import { startShop } from '../shop/shop-of-test.ts';
import { collection, type Shop } from '../shop/widgets.ts';

/** `meanwhile` runs so many times, each time when the operation has been decided on what was read. */
async function interrupted(
  operation: string,
  meanwhile: (shop: Shop, time: number) => Promise<unknown>,
  times = 1,
): Promise<Shop> {
  let [time, isWithin] = [0, false];
  const shop: Shop = await startShop({
    admission: [
      async (write) => {
        if (write.operation !== operation || isWithin || time === times) return;
        isWithin = true;
        await meanwhile(shop, ++time);
        isWithin = false;
      },
    ],
  });
  await shop.call('POST', collection, { metadata: { name: 'a' } });
  return shop;
}
const merge = { 'content-type': 'application/merge-patch+json' };
const labelled = (name: string) => ({ metadata: { labels: { [name]: 'yes' } } });
const patch = (shop: Shop, body: object) => shop.call('PATCH', `${collection}/a`, body, merge);

describe('a write between the reading and the writing of another', () => {
  it('is not undone by a patch, which is made again on what is there now', async () => {
    const shop = await interrupted('update', (it) => patch(it, labelled('theirs')));
    expect((await patch(shop, labelled('ours'))).status).toBe(200);
    const { json } = await shop.call('GET', `${collection}/a`);
    expect(json['metadata']).toMatchObject({ labels: { ours: 'yes', theirs: 'yes' } });
  });

  // kube-apiserver tries again for as long as it takes: many clients and two replicas may write one object at once.
  const apply = { 'content-type': 'application/apply-patch+yaml' };
  const widget = { apiVersion: 'shop.example/v1', kind: 'Widget', metadata: { name: 'a' }, spec: { size: 'big' } };
  it.each([
    ['a merge patch', 'PATCH', `${collection}/a`, labelled('ours'), merge],
    [
      'an apply',
      'PATCH',
      `${collection}/a?fieldManager=ours&force=true`,
      { ...widget, metadata: { name: 'a', ...labelled('ours').metadata } },
      apply,
    ],
    [
      'a PUT without a version',
      'PUT',
      `${collection}/a`,
      { ...widget, metadata: { name: 'a', ...labelled('ours').metadata } },
      undefined,
    ],
  ])('%s comes through although others were faster forty times', async (_what, method, path, body, headers) => {
    const shop = await interrupted('update', (it, time) => patch(it, labelled(`theirs${time}`)), 40);
    expect((await shop.call(method, path, body, headers)).status).toBe(200);
    expect((await shop.call('GET', `${collection}/a`)).json['metadata']).toMatchObject({ labels: { ours: 'yes' } });
  });

  it('lets a delete come through although others were faster forty times', async () => {
    const shop = await interrupted('delete', (it, time) => patch(it, labelled(`theirs${time}`)), 40);
    expect((await shop.call('DELETE', `${collection}/a`)).status).toBe(200);
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(404);
  });

  it('makes a change of an apply that was about to create the object', async () => {
    const apply = (shop: Shop, manager: string, label: string) => {
      const type = { apiVersion: 'shop.example/v1', kind: 'Widget' };
      const object = { ...type, metadata: { name: 'b', ...labelled(label).metadata }, spec: { size: 'small' } };
      const yaml = { 'content-type': 'application/apply-patch+yaml' };
      return shop.call('PATCH', `${collection}/b?fieldManager=${manager}`, object, yaml);
    };
    let isDone = false;
    const shop: Shop = await startShop({
      admission: [
        async ({ operation }) => {
          if (operation !== 'create' || isDone) return;
          isDone = true;
          expect((await apply(shop, 'theirs', 'theirs')).status).toBe(201);
        },
      ],
    });
    expect((await apply(shop, 'ours', 'ours')).status).toBe(200);
    const { json } = await shop.call('GET', `${collection}/b`);
    expect(json['metadata']).toMatchObject({ labels: { ours: 'yes', theirs: 'yes' } });
  });

  it('makes an update that names a version fail with 409', async () => {
    const shop = await interrupted('update', (it) => patch(it, labelled('theirs')));
    const { json: read } = await shop.call('GET', `${collection}/a`);
    expect((await shop.call('PUT', `${collection}/a`, { ...read, spec: { size: 'big' } })).status).toBe(409);
    const { json } = await shop.call('GET', `${collection}/a`);
    expect(json).toMatchObject({ metadata: { labels: { theirs: 'yes' } }, spec: { size: 'small' } });
  });

  it('keeps an object that a delete was about to remove, if it added a finalizer', async () => {
    const finalizers = ['example.com/wait'];
    const shop = await interrupted('delete', (it) => patch(it, { metadata: { finalizers } }));
    expect((await shop.call('DELETE', `${collection}/a`)).status).toBe(200);
    const { status, json } = await shop.call('GET', `${collection}/a`);
    expect(status).toBe(200);
    expect(json['metadata']).toMatchObject({ finalizers, deletionTimestamp: expect.any(String) });
  });

  it('makes a delete of the object that was there before fail with 409', async () => {
    const shop = await interrupted('none', async () => undefined);
    const { json: first } = await shop.call('GET', `${collection}/a`);
    await shop.call('DELETE', `${collection}/a`);
    await shop.call('POST', collection, { metadata: { name: 'a' } });
    const { uid } = first['metadata'] as { uid: string };
    expect((await shop.call('DELETE', `${collection}/a`, { preconditions: { uid } })).status).toBe(409);
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(200);
  });

  it('makes a delete that names a version fail with 409', async () => {
    const shop = await interrupted('delete', (it) => patch(it, labelled('theirs')));
    const { json: read } = await shop.call('GET', `${collection}/a`);
    const { resourceVersion } = read['metadata'] as { resourceVersion: string };
    const { status } = await shop.call('DELETE', `${collection}/a`, { preconditions: { resourceVersion } });
    expect(status).toBe(409);
    expect((await shop.call('GET', `${collection}/a`)).status).toBe(200);
  });
});
