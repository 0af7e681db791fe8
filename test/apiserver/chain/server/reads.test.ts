import { request as plainRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../virtual-clock.ts';
import { startShop } from '../../shop/shop-of-test.ts';
import { collection, Lines, type Shop, widget } from '../../shop/widgets.ts';

describe('a watch', () => {
  const watch = async (shop: Shop, query: string) => {
    const headers = { authorization: 'Bearer owner-token' };
    const response = await fetch(`${shop.server.url}${collection}?watch=true&${query}`, { headers });
    return new Lines(response.body as ReadableStream<Uint8Array>);
  };
  /** Creates `count` objects with `size` characters each; returns their names. */
  const fill = async (shop: Shop, count: number, size: number): Promise<string[]> => {
    const names = Array.from({ length: count }, (_, index) => `w${index}`);
    for (const name of names) await shop.call('POST', collection, widget(name, { spec: { size: 'x'.repeat(size) } }));
    return names;
  };
  /** Advances past stalledMs and waits until the server has dropped the watch of a client that does not read. */
  const expectLetGo = async ({
    shop,
    clock,
    lines,
  }: {
    shop: Shop;
    clock: VirtualClock;
    lines: Lines;
  }): Promise<void> => {
    expect(shop.server.watchCount).toBe(1);
    await clock.advance(31_000);
    while (shop.server.watchCount > 0) await new Promise((resolve) => setImmediate(resolve));
    await lines.cancel().catch(() => {});
  };

  it('ends cleanly when the server stops', async () => {
    const shop = await startShop();
    const lines = await watch(shop, 'resourceVersion=0');
    await shop.server.stop();
    expect(await lines.next()).toBeUndefined();
  });

  it('sends bookmarks without changes, and ends at its time', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    await shop.call('POST', collection, widget('a'));
    const lines = await watch(shop, 'resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=200');
    await clock.advance(60_000);
    expect(await lines.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '1' } } });
    await shop.call('POST', '/apis/shop.example/v1/namespaces/other/widgets', widget('b'));
    await clock.advance(60_000);
    expect(await lines.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } });
    await clock.advance(80_000);
    while ((await lines.next()) !== undefined);
    expect(shop.server.watchCount).toBe(0);
  });

  it('shows objects that leave the selection as DELETED and objects that enter it as ADDED', async () => {
    const shop = await startShop();
    const patch = { 'content-type': 'application/merge-patch+json' };
    await shop.call('POST', collection, widget('a', { spec: { size: 'big' } }));
    const lines = await watch(shop, 'resourceVersion=1&fieldSelector=spec.size%3Dbig');
    await shop.call('PATCH', `${collection}/a`, { spec: { size: 'small' } }, patch);
    await shop.call('PATCH', `${collection}/a`, { spec: { tags: ['unseen'] } }, patch);
    await shop.call('PATCH', `${collection}/a`, { spec: { size: 'big' } }, patch);
    await shop.call('DELETE', `${collection}/a`);
    const seen = [];
    for (let count = 0; count < 3; count++) seen.push(await lines.next());
    expect(seen.map((event) => event?.['type'])).toEqual(['DELETED', 'ADDED', 'DELETED']);
    await lines.cancel();
  });

  it('from before the history answers 410 in the stream', async () => {
    const shop = await startShop();
    for (const name of ['a', 'b', 'c']) await shop.call('POST', collection, widget(name));
    await shop.store.compact(3);
    const lines = await watch(shop, 'resourceVersion=1');
    expect(await lines.next()).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
    expect(await lines.next()).toBeUndefined();
  });

  it('sends a returning client its whole backlog of any length, and every bookmark after the backlog', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    const names = await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=12');
    await clock.advance(11_000);
    let revision = 1;
    while (revision < names.length) {
      expect(await lines.next()).toMatchObject({
        type: 'ADDED',
        object: { metadata: { name: names[revision], resourceVersion: String(++revision) } },
      });
    }
    await lines.cancel();
  });

  it('of a returning client that does not read its backlog is dropped', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1');
    await expectLetGo({ shop, clock, lines });
  });

  it('that has ended is dropped when its client does not read the rest', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    await fill(shop, 14, 1_000_000);
    const lines = await watch(shop, 'resourceVersion=1&timeoutSeconds=5');
    await clock.advance(6_000);
    await expectLetGo({ shop, clock, lines });
  });

  it('sends the whole state to a slow client', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    const total = 510;
    await fill(shop, total, 60_000);
    const lines = await watch(shop, 'resourceVersion=0');
    for (let count = 0; count < total; count++) {
      expect(await lines.next()).toMatchObject({ type: 'ADDED' });
      await clock.advance(200);
    }
    await lines.cancel();
  });

  it('of a client that does not read is dropped, and other watches continue', async () => {
    const clock = new VirtualClock();
    const shop = await startShop({ clock });
    const reading = await watch(shop, 'resourceVersion=0');
    const sleeping = plainRequest(`${shop.server.url}${collection}?watch=true&resourceVersion=0`, {
      headers: { authorization: 'Bearer owner-token' },
    });
    const closed = new Promise<void>((resolve) => {
      sleeping.on('response', (response) => {
        response.pause();
        response.on('close', resolve);
        response.on('error', () => resolve());
      });
      sleeping.on('error', () => resolve());
    });
    sleeping.end();
    while (shop.server.watchCount < 2) await new Promise((resolve) => setImmediate(resolve));
    const large = 'x'.repeat(1_000_000);
    const total = 14;
    for (let count = 0; count < total; count++) {
      await shop.call('POST', collection, widget(`w${count}`, { spec: { size: large } }));
      expect(await reading.next()).toMatchObject({ type: 'ADDED' });
    }
    // The socket takes some of it before the server has to wait.
    for (let count = 0; count < 100 && shop.server.watchCount > 1; count++) {
      await clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(shop.server.watchCount).toBe(1);
    sleeping.destroy();
    await closed;
    await reading.cancel();
  });
});

describe('lists', () => {
  it('have pages of one revision, even with writes in between', async () => {
    const shop = await startShop();
    const names = Array.from({ length: 25 }, (_, index) => `w${String(index).padStart(2, '0')}`);
    for (const name of names) await shop.call('POST', collection, widget(name));
    const seen: string[] = [];
    let token = '';
    do {
      const { json } = await shop.call('GET', `${collection}?limit=10&continue=${encodeURIComponent(token)}`);
      seen.push(...(json['items'] as { metadata: { name: string } }[]).map((item) => item.metadata.name));
      token = (json['metadata'] as { continue?: string }).continue ?? '';
      await shop.call('DELETE', `${collection}/w24`);
      await shop.call('POST', collection, widget(`w05-${seen.length}`));
    } while (token !== '');
    expect(seen).toEqual(names);
  });

  it('longer than one step are complete and in order, as a list and as the state of a watch', async () => {
    const shop = await startShop();
    const count = 1203;
    for (let index = 0; index < count; index++) {
      const name = `w${String(index).padStart(4, '0')}`;
      const value = JSON.stringify({
        metadata: { name, namespace: 'main', labels: { even: String(index % 2 === 0) } },
      });
      await shop.store.write(`/registry/widgets/main/${name}`, { expect: 0, value });
    }
    const names = (items: unknown) => (items as { metadata: { name: string } }[]).map((item) => item.metadata.name);
    const whole = await shop.call('GET', collection);
    expect(names(whole.json['items'])).toHaveLength(count);
    expect(names(whole.json['items'])).toEqual(names(whole.json['items']).toSorted());
    const half = await shop.call('GET', `${collection}?labelSelector=even%3Dtrue`);
    expect(names(half.json['items'])).toHaveLength(602);
    const headers = { authorization: 'Bearer owner-token' };
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const response = await fetch(`${shop.server.url}${collection}?${query}`, { headers });
    const lines = new Lines(response.body as ReadableStream<Uint8Array>);
    for (let index = 0; index < count; index++) expect(await lines.next()).toMatchObject({ type: 'ADDED' });
    expect(await lines.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(count) } },
    });
    await lines.cancel();
  });

  it('with a selector fill their pages and contain every match once', async () => {
    const shop = await startShop();
    for (let index = 0; index < 30; index++) {
      const labels = { third: String(index % 3 === 0) };
      await shop.call('POST', collection, { metadata: { name: `w${String(index).padStart(2, '0')}`, labels } });
    }
    const sizes: number[] = [];
    let token = '';
    do {
      const query = `labelSelector=third%3Dtrue&limit=4&continue=${encodeURIComponent(token)}`;
      const { json } = await shop.call('GET', `${collection}?${query}`);
      sizes.push((json['items'] as unknown[]).length);
      token = (json['metadata'] as { continue?: string }).continue ?? '';
    } while (token !== '');
    expect(sizes).toEqual([4, 4, 2]);
  });
});
