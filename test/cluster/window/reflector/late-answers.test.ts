// Answers that show an object which the cache lacks: late ones are thrown away, and those that prove that the watch has missed it are taken.
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../../src/object/meta/object.ts';
import { sendJson } from '../../scripted-server.ts';
import { passing, until } from '../../subject.ts';
import { changes, clock, defects, expectAlive, metrics, server, setUp, synced, value, window } from './stage.ts';

setUp();

/** The object stands on the server, and its event has got lost. */
function unseen(name: string): KubeObject {
  const { emit } = server;
  server.emit = () => undefined;
  const object = server.put(name, { value: name });
  server.emit = emit;
  return object;
}

const seen = async (): Promise<void> => {
  const { metadata } = server.put('b', { value: 'seen' });
  await until(() => window.versionOf('default/b') === metadata.resourceVersion);
};

describe('an answer that shows an object which the cache lacks', () => {
  test('is taken when the watch has passed it without a word, and the loss is told', async () => {
    await synced();
    const object = unseen('lost');
    await seen();
    changes.length = 0;
    expect(window.remember(object)).toBe(true);
    expect(value('default/lost')).toBe('lost');
    expect(changes).toEqual([{ key: 'default/lost', kind: 'set', origin: 'watch' }]);
    const { resourceVersion } = object.metadata;
    const about = { cluster: 'virtual', resource: 'endpoints', key: 'default/lost' };
    expect(defects).toEqual([{ ...about, missed: 'ADDED', remembered: undefined, found: resourceVersion }]);
    expect(window.proof.missed).toBe(1);
    await expectAlive(1);
  });

  test('is taken when it was made again after the removal that the watch has shown', async () => {
    await synced();
    server.remove('a');
    await until(() => !window.has('default/a'));
    const again = unseen('a');
    await seen();
    window.remember(again);
    expect(value('default/a')).toBe('a');
    await expectAlive(1);
  });

  test('is late when the watch has shown its removal, also if its making was never shown', async () => {
    await synced();
    const object = unseen('lost');
    server.remove('lost');
    await seen();
    expect(window.remember(object)).toBe(false);
    expect(window.has('default/lost')).toBe(false);
    expect(defects).toEqual([]);
    await expectAlive(1);
  });

  test('is late when it was deleted longer ago than removals are remembered: a list tells', async () => {
    await synced();
    const late = server.put('late', { value: 1 });
    server.remove('late');
    for (let nth = 0; nth < 1_000; nth++) {
      server.put(`other-${nth}`, { value: nth });
      server.remove(`other-${nth}`);
    }
    await seen();
    window.remember(late);
    await passing(clock, () => server.count('list') === 2);
    expect(window.has('default/late')).toBe(false);
    expect(defects).toEqual([]);
  });

  test('is no news where it contradicts the last list, but that list is asked for again, not more often than every five seconds', async () => {
    server.script('list', ({ response }) => {
      const metadata = { resourceVersion: String(server.rv) };
      sendJson(response, 200, { apiVersion: 'v1', kind: 'EndpointsList', metadata, items: [] });
    });
    await synced();
    const shown = server.objects.get('default/a') as KubeObject;
    expect(window.remember(shown)).toBe(false);
    expect(window.has('default/a')).toBe(false);
    expect(window.remember(shown)).toBe(false);
    await until(() => value('default/a') === 1);
    expect(defects).toEqual([]);
    await expectAlive(2);
    const removed = server.objects.get('default/a') as KubeObject;
    server.remove('a');
    await until(() => !window.has('default/a'));
    window.remember(removed);
    expect(window.has('default/a')).toBe(false);
    await expectAlive(2);
  });

  test('and is no newer than what we have removed ourselves comes from a server that was set back', async () => {
    await synced();
    const known = server.objects.get('default/a') as KubeObject;
    window.forget('default/a', known.metadata.resourceVersion);
    expect(window.remember(known)).toBe(false);
    expect(window.has('default/a')).toBe(false);
    await until(() => value('default/a') === 1);
    await expectAlive(2);
  });

  test('is counted as a missed event', async () => {
    await synced();
    const object = unseen('lost');
    await seen();
    window.remember(object);
    const told = 'hostward_watch_missed_changes_total{cluster="virtual",resource="endpoints",type="ADDED"} 1';
    expect(await metrics.metrics()).toContain(told);
  });
});

describe('an answer that is older than what the window showed before the request', () => {
  test('comes from a server that was set back: it is thrown away, and the list is asked for again', async () => {
    await synced();
    const old = server.objects.get('default/a') as KubeObject;
    const { metadata } = server.put('a', { value: 2 });
    await until(() => value('default/a') === 2);
    expect(window.remember(old, metadata.resourceVersion)).toBe(false);
    expect(value('default/a')).toBe(2);
    await expectAlive(2);
  });

  test('is late when the window showed a newer one only since', async () => {
    await synced();
    const old = server.objects.get('default/a') as KubeObject;
    server.put('a', { value: 2 });
    await until(() => value('default/a') === 2);
    expect(window.remember(old, old.metadata.resourceVersion)).toBe(true);
    expect(value('default/a')).toBe(2);
    await expectAlive(1);
  });
});
