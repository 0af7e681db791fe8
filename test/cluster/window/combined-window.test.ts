import { beforeEach, describe, expect, test } from 'vitest';
import { type CombinedNamespaces, combineWindows, narrowWindow } from '../../../src/cluster/window/combined-window.ts';
import type {
  Found,
  ProofState,
  Window,
  WindowListener,
  WindowState,
  WindowTrouble,
} from '../../../src/cluster/window/window.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import type { TestItem } from '../subject.ts';

/** A window that the test controls. */
class StubWindow implements Window<TestItem> {
  items = new Map<string, TestItem>();
  state: WindowState = 'idle';
  hasSynced = false;
  trouble: WindowTrouble | undefined;
  lastHeardMs = 0;
  proof: ProofState = { provenAtMs: undefined, missed: 0 };
  asked: string[] = [];
  listeners = new Set<WindowListener>();

  start(): void {
    this.state = 'listing';
  }

  async stop(): Promise<void> {
    this.state = 'stopped';
  }

  async whenSynced(): Promise<void> {
    this.asked.push('whenSynced');
  }

  versionOf(key: string): string | undefined {
    return this.items.get(key)?.resourceVersion;
  }

  provenMs(key: string): number | undefined {
    return this.items.has(key) ? this.proof.provenAtMs : undefined;
  }

  get(key: string): TestItem | undefined {
    return this.items.get(key);
  }

  markOf(key: string): string | undefined {
    const item = this.items.get(key);
    return item && (item.mark ?? '');
  }

  has(key: string): boolean {
    return this.items.has(key);
  }

  async find(key: string): Promise<Found> {
    this.asked.push(`find ${key}`);
    return this.items.has(key) ? 'found' : 'absent';
  }

  get size(): number {
    return this.items.size;
  }

  keys(): IterableIterator<string> {
    return this.items.keys();
  }

  async relist(reason: string): Promise<void> {
    this.asked.push(`relist ${reason}`);
  }

  remember(object: KubeObject, seen?: string): boolean {
    this.asked.push(`remember ${object.metadata.name}`);
    return seen === undefined;
  }

  forget(key: string): void {
    this.asked.push(`forget ${key}`);
  }

  subscribe(listener: WindowListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  put(namespace: string, name: string): void {
    this.items.set(`${namespace}/${name}`, { namespace, name, uid: 'u', resourceVersion: '1', value: name });
  }

  tell(say: (listener: WindowListener) => void): void {
    for (const listener of this.listeners) say(listener);
  }
}

describe('combineWindows()', () => {
  let a: StubWindow;
  let b: StubWindow;
  let window: CombinedNamespaces<TestItem>;

  beforeEach(() => {
    a = new StubWindow();
    b = new StubWindow();
    a.put('a', 'one');
    b.put('b', 'two');
    b.put('b', 'three');
    window = combineWindows(
      new Map([
        ['a', a],
        ['b', b],
      ]),
    );
  });

  test('shows the objects of all windows, and reads each object from the window of its namespace', () => {
    expect([...window.keys()]).toEqual(['a/one', 'b/two', 'b/three']);
    expect(window.size).toBe(3);
    expect(window.get('b/two')?.value).toBe('two');
    expect(window.has('c/one')).toBe(false);
    window.forget('b/two', '1');
    window.remember({ metadata: { namespace: 'a', name: 'one' } });
    expect([a.asked, b.asked]).toEqual([['remember one'], ['forget b/two']]);
  });

  test('shows a further namespace from its first list on, to those who listen already too', async () => {
    const heard: string[] = [];
    const stop = window.subscribe({ changed: ({ key, kind, origin }) => heard.push(`${kind} ${key} by ${origin}`) });
    const c = new StubWindow();
    c.put('c', 'four');
    const first = Promise.withResolvers<void>();
    c.whenSynced = () => first.promise;
    const joined = window.join('c', c);
    expect(window.has('c/four')).toBe(false);
    first.resolve();
    await joined;
    expect(window.get('c/four')?.value).toBe('four');
    expect(heard).toEqual(['set c/four by list']);
    c.tell((listener) => listener.changed?.({ key: 'c/four', kind: 'removed', origin: 'watch' }));
    expect(heard).toHaveLength(2);
    stop();
    c.tell((listener) => listener.changed?.({ key: 'c/four', kind: 'set', origin: 'watch' }));
    expect(heard).toHaveLength(2);
  });

  test('starts no further namespace once it is stopped, and stops one that is about to join', async () => {
    const c = new StubWindow();
    const first = Promise.withResolvers<void>();
    c.whenSynced = () => first.promise;
    const joined = window.join('c', c);
    await window.stop();
    first.reject(new Error('stopped'));
    await joined;
    const late = new StubWindow();
    await window.join('d', late);
    expect([c.state, late.state]).toEqual(['stopped', 'idle']);
  });

  test('has the worst state among its windows', () => {
    a.state = 'watching';
    b.state = 'retrying';
    expect(window.state).toBe('retrying');
    b.state = 'watching';
    expect(window.state).toBe('watching');
    a.hasSynced = true;
    expect(window.hasSynced).toBe(false);
    b.hasSynced = true;
    expect(window.hasSynced).toBe(true);
    a.trouble = { message: 'later', sinceMs: 9, isAnswered: false, unservedMs: 9 };
    b.trouble = { message: 'first', sinceMs: 3, isAnswered: false, unservedMs: 3 };
    expect(window.trouble?.message).toBe('first');
    a.lastHeardMs = 5;
    b.lastHeardMs = 2;
    expect(window.lastHeardMs).toBe(2);
  });

  test('is listed for the first time when every window is listed', () => {
    const heard: unknown[] = [];
    window.subscribe({ listed: (list) => heard.push(list) });
    b.tell((listener) => listener.listed?.({ isFirst: true, count: 2, removed: [] }));
    b.tell((listener) => listener.listed?.({ isFirst: false, count: 2, removed: [] }));
    expect(heard).toEqual([]);
    a.tell((listener) => listener.listed?.({ isFirst: true, count: 1, removed: [] }));
    expect(heard).toEqual([{ isFirst: true, count: 3, removed: [] }]);
    b.tell((listener) => listener.listed?.({ isFirst: false, count: 1, removed: ['b/two'] }));
    expect(heard[1]).toEqual({ isFirst: false, count: 1, removed: ['b/two'] });
  });

  test('starts, lists and stops all windows', async () => {
    window.start();
    await window.relist('test');
    await window.stop();
    expect([a.asked, b.asked]).toEqual([['relist test'], ['relist test']]);
    expect([a.state, b.state]).toEqual(['stopped', 'stopped']);
  });
});

describe('narrowWindow()', () => {
  test('hides other namespaces in reads, changes, lists and writes', () => {
    const wide = new StubWindow();
    wide.put('ours-1', 'a');
    wide.put('theirs', 'b');
    const window = narrowWindow(wide, (namespace) => namespace.startsWith('ours-'));
    expect([...window.keys()]).toEqual(['ours-1/a']);
    expect(window.size).toBe(1);
    expect(window.get('theirs/b')).toBeUndefined();
    const heard: unknown[] = [];
    window.subscribe({ changed: (change) => heard.push(change.key), listed: (list) => heard.push(...list.removed) });
    for (const key of ['theirs/b', 'ours-1/a']) {
      wide.tell((listener) => listener.changed?.({ key, kind: 'set', origin: 'watch' }));
    }
    wide.tell((listener) => listener.listed?.({ isFirst: false, count: 0, removed: ['theirs/c', 'ours-2/d'] }));
    expect(heard).toEqual(['ours-1/a', 'ours-2/d']);
    window.forget('theirs/b');
    window.forget('ours-1/a');
    expect(wide.asked).toEqual(['forget ours-1/a']);
  });
});
