import { afterEach, describe, expect, it } from 'vitest';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { collection, Lines, openShop, type Shop } from '../shop/widgets.ts';

const bookmarkIntervalMs = 60_000;
let shop: Shop | undefined;
afterEach(() => shop?.stop());

function put(store: Shop['store'], name: string) {
  const value = JSON.stringify({ metadata: { name, namespace: 'main', uid: name }, spec: {} });
  return store.write(`/registry/widgets/main/${name}`, { expect: 0, value });
}

describe('a bookmark', () => {
  it('waits for the next time while an event that it would cover is not sent yet', async () => {
    const clock = new VirtualClock();
    let turns = 0;
    let turn: Promise<void> | undefined;
    const works = () => {
      turns++;
      return turn;
    };
    shop = await openShop({ clock, works, watch: { bookmarkIntervalMs, maxWatchMs: 100 * bookmarkIntervalMs } });
    await put(shop.store, 'first');
    const response = await fetch(
      `${shop.server.url}${collection}?watch=true&allowWatchBookmarks=true&resourceVersion=1`,
      { headers: { authorization: 'Bearer owner-token' } },
    );
    const lines = new Lines(response.body as ReadableStream<Uint8Array>);
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    turns = 0;
    await put(shop.store, 'second');
    while (turns === 0) await settle();
    // The watch holds the event, and it is not its turn.
    await clock.advance(bookmarkIntervalMs);
    turn = undefined;
    resolve();
    expect(await lines.next()).toMatchObject({ type: 'ADDED', object: { metadata: { resourceVersion: '2' } } });
    await clock.advance(bookmarkIntervalMs);
    expect(await lines.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '2' } } });
    await lines.cancel();
  });
});
