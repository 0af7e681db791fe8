import { afterEach, describe, expect, it } from 'vitest';
import { runCommandLine } from '../../src/cli/command-line.ts';
import { OperationsServer } from '../../src/cli/operations-server.ts';
import { statusText } from '../../src/cli/status-text.ts';
import { scene } from './scene.ts';

let server: OperationsServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function serve(): Promise<string> {
  server = new OperationsServer(
    { host: '127.0.0.1', port: 0 },
    {
      health: () => ({ isHealthy: true, lines: [] }),
      readiness: () => ({ isReady: true, lines: [], parts: [] }),
      metrics: async () => ({ contentType: 'text/plain', text: '' }),
      status: () => ({ virtualCluster: 'vc', queue: { depth: 0 }, refused: [{ key: 'a/b', reason: 'HostNameTaken' }] }),
      objectStatus: (key) => (key === 'a/b' ? { key, state: 'refused' } : undefined),
    },
  );
  await server.start();
  return `127.0.0.1:${server.address.port}`;
}

async function status(...argv: string[]) {
  const { context, out, err } = scene({
    files: { '/home/v.yaml': `hostward: {listen: "0.0.0.0:${server?.address.port ?? 1}"}\n` },
  });
  const code = await runCommandLine(context, ['status', ...argv]);
  return { code, out: out(), err: err() };
}

describe('hostward status', () => {
  it('prints what the daemon says, for people and for programs', async () => {
    const address = await serve();
    expect((await status('--address', address)).out).toBe(
      'virtual cluster: vc\n\nQueue\n  depth: 0\n\nRefused\n  KEY  REASON\n  a/b  HostNameTaken\n',
    );
    expect(JSON.parse((await status('--address', address, '-o', 'json')).out)).toMatchObject({ virtualCluster: 'vc' });
    expect((await status('a/b', '--address', address)).out).toBe('key:   a/b\nstate: refused\n');
  });

  it('finds the address in the configuration, and this machine behind "everywhere"', async () => {
    await serve();
    expect((await status('a/b', '-c', 'v.yaml')).code).toBe(0);
  });

  it('says that an object is not known', async () => {
    expect(await status('c/d', '--address', await serve())).toMatchObject({
      code: 1,
      err: 'hostward: nothing is known of "c/d"\n',
    });
  });

  it('says that nobody listens, and what to do', async () => {
    const address = await serve();
    await server?.stop();
    const { code, err } = await status('--address', address);
    expect(code).toBe(3);
    expect(err).toContain(`cannot ask the daemon on ${address}: connection refused, nobody listens there`);
    expect(err).toContain('kubectl port-forward');
  });

  it.each([
    [['just-a-name'], 'wanted NAMESPACE/NAME, found "just-a-name"'],
    [['--address', 'nowhere'], '--address wants HOST:PORT, found "nowhere"'],
  ])('refuses %j', async (argv, message) => {
    expect(await status(...argv)).toMatchObject({ code: 2, err: expect.stringContaining(message) });
  });
});

describe('statusText()', () => {
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

  it('cuts and wraps nothing where there is no width: what reads it may look for a name', () => {
    const object = `${'n'.repeat(63)}/${'o'.repeat(63)}`;
    const text = statusText({ fact: 'word '.repeat(40).trim(), trouble: [{ object, message: 'm'.repeat(200) }] });
    expect(text).toContain(object);
    expect(text).toContain('m'.repeat(200));
    expect(text.split('\n')[0]).toHaveLength('fact: '.length + 199);
  });

  it('says emptiness in a word', () => {
    expect(statusText({ faults: [], lease: null, dryRun: false })).toBe('faults:  none\nlease:   none\ndry run: no\n');
  });
});
