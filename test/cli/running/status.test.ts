import { afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { statusText } from '../../../src/cli/running/status-text.ts';
import { OperationsServer } from '../../../src/daemon/operations/operations-server.ts';
import { scene } from '../scene.ts';

let server: OperationsServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

const rows = [
  { object: 'shop/db', state: 'inSync' },
  { object: 'shop/web', state: 'refused/NotOwned', message: 'taken', sinceSeconds: 3 },
  { object: 'a/b', state: 'refused/HostNameTaken', message: 'taken' },
];

const oneObject: Record<string, object> = {
  'a/b': { state: 'refused' },
  'a/fine': { state: 'inSync', references: [{ object: 'Secret a/s', standing: 'exported' }] },
  'a/back': { state: 'inSync', backflowFailures: [{ map: 'label', key: 'k', message: 'no' }] },
  'a/lapsed': { state: 'inSync', patchFailure: { message: 'no' } },
  'a/refused': { state: 'inSync/ReferenceRefused' },
  'a/secret': { kind: 'Secret', state: 'refused/Forbidden' },
  'a/both': { state: 'inSync', alsoSecret: { state: 'refused/Forbidden' } },
  'a/standby': { state: 'left/Standby' },
  'a/orphan': { state: 'left/NotOurs' },
  'a/taken': { kind: 'Endpoints', object: 'a/taken', hostObject: 'h/taken-x-a-x-vc', state: 'refused/NotOwned' },
  'a/many': {
    state: 'inSync',
    keys: [
      ...Array.from({ length: 5_000 }, (_, at) => ({ map: 'annotations', key: `k-${at}`, verdict: 'same' })),
      { map: 'labels', key: 'edited', verdict: 'toVirtual' },
    ],
  },
  'a/claimed': { state: 'refused', claimedBy: Array.from({ length: 1_000 }, (_, at) => `n-${at}/x`) },
  'a/few': {
    state: 'inSync',
    keys: Array.from({ length: 21 }, (_, at) => ({ map: 'labels', key: `k-${at}`, verdict: 'same' })),
  },
  'a/refers': { state: 'inSync', references: [{ object: 'Secret a/s', standing: 'unresolved' }] },
};

async function serve(verdict?: { isWell: boolean; sentence: string }): Promise<string> {
  server = new OperationsServer(
    { host: '127.0.0.1', port: 0 },
    {
      health: () => ({ isHealthy: true, lines: [] }),
      readiness: () => ({ isReady: true, lines: [], parts: [] }),
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
      status: () => ({
        ...(verdict && { verdict }),
        virtualCluster: 'vc',
        queue: { depth: 0 },
        refused: [{ key: 'a/b', reason: 'HostNameTaken' }],
      }),
      objects: ({ namespace, state, kind }) =>
        rows
          .filter(() => kind !== 'EndpointSlice')
          .filter(({ object }) => namespace === undefined || object.startsWith(`${namespace}/`))
          .filter((row) => state === undefined || row.state.startsWith(state)),
      objectStatus: (key) => oneObject[key] && { key, ...oneObject[key] },
    },
  );
  await server.start();
  return `127.0.0.1:${server.address.port}`;
}

async function status(...argv: string[]) {
  const listen = `listen: "0.0.0.0:${server?.address.port ?? 1}"`;
  const files = {
    '/home/v.yaml': `hostward: {${listen}}\n`,
    '/home/faulty.yaml': `hostward: {${listen}, projekts: 1}\n`,
    '/home/broken.yaml': `hostward: {${listen}\n`,
    '/home/nowhere.yaml': 'hostward: {listen: everywhere}\n',
  };
  const { context, out, err } = scene({ files });
  const code = await runCommandLine(context, ['status', ...argv]);
  return { code, out: out(), err: err() };
}

describe('hostward status of an object with thousands of keys', () => {
  it('shows the first twenty, those that differ before all others, and says where the rest is', async () => {
    const address = await serve();
    const { out } = await status('a/many', '--address', address);
    const lines = out.trimEnd().split('\n');
    expect(lines.length).toBeLessThan(30);
    expect(lines.filter((line) => /^ {2}(labels|annotations) /.test(line)).map((line) => line.split(/ +/)[2])).toEqual([
      'edited',
      ...Array.from({ length: 19 }, (_, at) => `k-${at}`),
    ]);
    expect(lines.at(-1)).toBe('  and 4,981 more; -o json has all');
    expect(JSON.parse((await status('a/many', '--address', address, '-o', 'json')).out).keys).toHaveLength(5_001);
  });

  it('bounds a list of names as well, and no list that is one longer', async () => {
    const address = await serve();
    expect((await status('a/claimed', '--address', address)).out).toContain(
      '- n-19/x\n  and 980 more; -o json has all\n',
    );
    const { out } = await status('a/few', '--address', address);
    expect([out.match(/ k-\d+ /g)?.length, out.includes('more')]).toEqual([21, false]);
  });
});

describe('hostward status', () => {
  it('prints the status for people and for programs', async () => {
    const address = await serve();
    expect((await status('--address', address)).out).toBe(
      'virtual cluster: vc\n\nQueue\n  depth: 0\n\nRefused\n  KEY  REASON\n  a/b  HostNameTaken\n',
    );
    expect(JSON.parse((await status('--address', address, '-o', 'json')).out)).toMatchObject({ virtualCluster: 'vc' });
    expect((await status('a/b', '--address', address)).out).toBe('key:   a/b\nstate: refused\n');
  });

  it('finds the address in the configuration, and asks 127.0.0.1 when the daemon listens on every address', async () => {
    await serve();
    expect((await status('a/b', '-c', 'v.yaml')).out).toContain('state: refused');
  });

  // The daemon goes on with what it had, and its status says what is wrong with the file.
  it('asks the same daemon when the configuration has got a fault in the meantime', async () => {
    await serve();
    expect((await status('a/b', '-c', 'faulty.yaml')).out).toContain('state: refused');
  });

  it.each([['broken.yaml'], ['nowhere.yaml']])(
    'asks no other daemon when the address in %s cannot be read',
    async (file) => {
      await serve();
      const { code, err } = await status('a/b', '-c', file);
      expect([code, err]).toEqual([1, expect.stringMatching(`${file}:\\d`)]);
      expect(err).toContain('--address');
    },
  );

  it.each([
    [{ isWell: true, sentence: 'in step: 3 objects' }, 0],
    [{ isWell: false, sentence: 'cannot reach the host cluster since 2026-01-01T00:00:00Z: refused' }, 1],
  ])('ends with the verdict, and with its exit code: %j', async (verdict, code) => {
    const address = await serve(verdict);
    const said = await status('--address', address);
    expect(said.out.split('\n')[0]).toBe('virtual cluster: vc');
    expect(said.out.split('\n').slice(-3)).toEqual(['', verdict.sentence, '']);
    expect(said.code).toBe(code);
    const json = await status('--address', address, '-o', 'json');
    expect([JSON.parse(json.out).verdict, json.code]).toEqual([verdict, code]);
  });

  it('says why nothing answers at a port that no HTTP client connects to', async () => {
    const { code, err } = await status('--address', '127.0.0.1:1');
    expect([code, err]).toEqual([3, expect.stringContaining('which belongs to another protocol')]);
  });

  it('says below an object in trouble what mends it, as its page does', async () => {
    const address = await serve();
    const { out } = await status('a/taken', '--address', address);
    const [remedy, command] = out.trimEnd().split('\n').slice(-2);
    expect(remedy).toBe('rename the virtual object, or remove the other object on the host; this shows it:');
    expect(command).toBe('  kubectl --namespace h get endpoints taken-x-a-x-vc --output yaml');
    const json = await status('a/taken', '--address', address, '-o', 'json');
    expect(JSON.parse(json.out)).toMatchObject({ state: 'refused/NotOwned' });
  });

  it('ends with 1 for an object that is refused', async () => {
    expect((await status('a/b', '--address', await serve())).code).toBe(1);
  });

  it.each([
    ['a/fine', 0],
    ['a/back', 1],
    ['a/lapsed', 1],
    ['a/refers', 1],
    ['a/refused', 1],
    ['a/secret', 1],
    ['a/both', 1],
    ['a/standby', 0],
    ['a/orphan', 1],
  ])('ends for %s, which is on the host, with %i', async (key, code) => {
    expect((await status(key, '--address', await serve())).code).toBe(code);
  });

  it('lists the objects of a namespace, in a state, or all, with troubled objects first', async () => {
    const address = await serve({ isWell: false, sentence: 'blocked: 2 of 3 objects' });
    const objects = async (...argv: string[]) => {
      const { out, code } = await status('--address', address, ...argv);
      const all = out.trimEnd().split('\n');
      const [title, ...lines] = all.slice(all.findIndex((line) => line.startsWith('OBJECT'))).slice(0, -2);
      expect([...all.slice(-2), code]).toEqual(['', 'blocked: 2 of 3 objects', 1]);
      return { title, lines: lines.map((line) => line.split(/ +/)[0]) };
    };
    expect(await objects('--all')).toEqual({
      title: 'OBJECT    STATE                  SINCE SECONDS  MESSAGE',
      lines: ['a/b', 'shop/web', 'shop/db'],
    });
    expect((await objects('-n', 'shop')).lines).toEqual(['shop/web', 'shop/db']);
    expect((await objects('--state', 'refused/NotOwned')).lines).toEqual(['shop/web']);
    expect((await status('--address', address, '--all')).out).toMatch(/^virtual cluster: vc\n/);
    expect((await status('--address', address, '-n', 'shop')).out).toMatch(/^OBJECT /);
    const json = await status('--address', address, '-n', 'shop', '-o', 'json');
    expect(JSON.parse(json.out)).toEqual({
      verdict: { isWell: false, sentence: 'blocked: 2 of 3 objects' },
      objects: [rows[0], rows[1]],
    });
    expect((await status('--address', address, '-n', 'nowhere')).out).toContain('no such object');
    expect((await objects('--kind', 'endpoints')).lines).toEqual(['a/b', 'shop/web', 'shop/db']);
    expect((await status('--address', address, '--kind', 'endpointslices')).out).toContain('no such object');
    expect((await status('-n', 'a', 'b', '--address', address)).out).toContain('state: refused');
  });

  it('--watch prints changes, asks a stopped daemon again, and ends with the code of the last answer', async () => {
    const address = await serve({ isWell: true, sentence: 'in step: 3 objects' });
    const on = scene();
    const ended = runCommandLine(on.context, ['status', '--address', address, '--all', '--watch', '-o', 'json']);
    const lines = () => on.out().split('\n').filter(Boolean);
    const turn = async (isTrue: () => boolean) => {
      for (let n = 0; n < 500 && !isTrue(); n++) await on.clock.advance(10);
      expect(isTrue()).toBe(true);
    };
    await turn(() => lines().length === 1);
    await on.clock.advance(10_000);
    expect(lines()).toHaveLength(1);
    await server?.stop();
    await turn(() => on.out().includes('cannot ask the daemon'));
    on.send('stop');
    expect(await ended).toBe(3);
    const [first, last] = lines().map((line) => JSON.parse(line));
    expect(first.objects).toHaveLength(3);
    expect(last).toEqual({ error: expect.stringContaining('cannot ask the daemon') });
  });

  it('--watch into a file prints the whole once, and then a line with the time when the verdict changes', async () => {
    const verdict = { isWell: false, sentence: 'behind: 1 object waits, the oldest change is 7 s old' };
    const address = await serve(verdict);
    const on = scene();
    const ended = runCommandLine(on.context, ['status', '--address', address, '--watch']);
    const lines = () => on.out().split('\n').filter(Boolean);
    const turn = async (isTrue: () => boolean) => {
      for (let n = 0; n < 500 && !isTrue(); n++) await on.clock.advance(10);
      expect(isTrue()).toBe(true);
    };
    await turn(() => lines().length > 2);
    const whole = lines();
    verdict.sentence = 'behind: 1 object waits, the oldest change is 9 s old';
    await on.clock.advance(10_000);
    expect(lines()).toEqual(whole);
    Object.assign(verdict, { isWell: true, sentence: 'in step: 3 objects' });
    await turn(() => lines().length > whole.length);
    on.send('stop');
    expect(await ended).toBe(0);
    expect(lines().slice(whole.length)).toEqual([
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z in step: 3 objects$/),
    ]);
  });

  it('says that an object is not known', async () => {
    expect(await status('c/d', '--address', await serve())).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        /^hostward: "c\/d" is not known\n`hostward status --all --address 127\.0\.0\.1:\d+` lists every object\n$/,
      ),
    });
  });

  it('says that no program listens, and what to do', async () => {
    const address = await serve();
    await server?.stop();
    const { code, err } = await status('--address', address);
    expect(code).toBe(3);
    expect(err).toContain(`cannot ask the daemon on ${address}: connection refused, nothing listens there`);
    expect(err).toContain('kubectl port-forward');
  });

  it.each([
    [['just-a-name'], 'wanted NAMESPACE/NAME, found "just-a-name"'],
    [['a/b', '--all'], '--all, --state and --kind list objects'],
    [['--kind', 'Service'], '--kind wants one of Endpoints, EndpointSlice, found "Service"'],
    [['-n', 'c', 'a/b'], 'wanted NAMESPACE/NAME, found "a/b"'],
    [
      ['--state', 'refusde'],
      '--state wants one of refused, retry, waiting, pending, left, inSync, ineligible, found "refusde"',
    ],
    [['--address', 'nowhere'], '--address wants HOST:PORT, found "nowhere"'],
  ])('refuses %j', async (argv, message) => {
    expect(await status(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe('statusText()', () => {
  it('puts the message last in a table, because a long message would push the other cells out of sight', () => {
    const [, title] = statusText({ trouble: [{ object: 'a/b', message: 'taken', sinceSeconds: 3 }] }).split('\n');
    expect(title).toBe('  OBJECT  SINCE SECONDS  MESSAGE');
  });

  it('stays within the width it is given', () => {
    const long = 'word '.repeat(40).trim();
    const value = {
      aLongFact: long,
      list: [{ key: 'k'.repeat(70), why: long }],
      lines: [long],
      empty: [],
      nothing: null,
      yes: true,
    };
    for (const columns of [40, 80, 120]) {
      for (const line of statusText(value, columns).split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
    }
  });

  it('neither cuts nor wraps without a width, because a program may search for a name', () => {
    const object = `${'n'.repeat(63)}/${'o'.repeat(63)}`;
    const text = statusText({ fact: 'word '.repeat(40).trim(), trouble: [{ object, message: 'm'.repeat(200) }] });
    expect(text).toContain(object);
    expect(text).toContain('m'.repeat(200));
    expect(text.split('\n')[0]).toHaveLength('fact: '.length + 199);
  });

  it('prints an empty value as a word', () => {
    expect(statusText({ faults: [], lease: null, dryRun: false })).toBe('faults:  none\nlease:   none\ndry run: no\n');
  });
});
