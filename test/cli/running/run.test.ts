import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import type { Started } from '../../../src/daemon/options/daemon-options.ts';
import { argv, logged, messages, stage, until } from './run-stage.ts';

describe('hostward run', () => {
  it('serves the playground where the configuration says so, with its link on the status page', async () => {
    const port = await freePort();
    const withPlayground = stage({ kind: 'started' }, `hostward: {listen: "127.0.0.1:${port}", playground: true}\n`);
    const ended = runCommandLine(withPlayground.context, argv);
    await until(() => withPlayground.calls.includes('start'));
    const base = `http://127.0.0.1:${port}`;
    const [, link = ''] = /href="([^"]*playground[^"]*)"/.exec(await (await fetch(base)).text()) ?? [];
    expect(link).toMatch(/^\/playground#token=[\w-]+$/);
    expect(withPlayground.out()).not.toContain(link.split('=')[1]);
    expect((await fetch(`${base}/playground`)).status).toBe(200);
    const headers = { authorization: `Bearer ${link.split('=')[1]}`, 'content-type': 'application/json' };
    const asked = { method: 'POST', headers, body: '{"expression":"1 + 1"}' };
    expect(await (await fetch(`${base}/api/eval`, asked)).json()).toEqual({ value: 2 });
    withPlayground.send('stop');
    expect(await ended).toBe(0);
  });

  it('has no playground unless it is configured', async () => {
    const port = await freePort();
    const plain = stage({ kind: 'started' }, `hostward: {listen: "127.0.0.1:${port}"}\n`);
    const ended = runCommandLine(plain.context, argv);
    await until(() => plain.calls.includes('start'));
    const base = `http://127.0.0.1:${port}`;
    expect(await (await fetch(base)).text()).not.toContain('playground');
    expect((await fetch(`${base}/playground`)).status).toBe(404);
    expect((await fetch(`${base}/api/eval`, { method: 'POST', body: '{}' })).status).toBe(405);
    plain.send('stop');
    expect(await ended).toBe(0);
  });

  it('starts, runs until a stop signal, drains, and ends with 0', async () => {
    const on = stage();
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    on.send('stop');
    expect(await end).toBe(0);
    expect(on.calls).toEqual(['start', 'stop']);
    expect(messages(on)).toEqual(['starting', 'stopped']);
    expect(on.options()).toMatchObject({ isDryRun: false, version: '1.2.3', settings: { virtualClusterName: 'vc' } });
  });

  it('obeys a stop signal during the start', async () => {
    const on = stage(new Promise<Started>(() => {}));
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    on.send('stop');
    on.send('stop');
    expect(await end).toBe(0);
    expect(on.calls).toEqual(['start', 'stop']);
  });

  it('passes --dry-run to the daemon', async () => {
    const on = stage();
    const end = runCommandLine(on.context, [...argv, '--dry-run']);
    await until(() => on.calls.includes('start'));
    on.send('stop');
    await end;
    expect(on.options().isDryRun).toBe(true);
  });

  it('reports the faults of both clusters and ends with 3', async () => {
    const faults = [
      { code: 'CLUSTER_UNREACHABLE' as const, message: 'connecting to "https://v": refused', fix: 'start it' },
      { code: 'CLUSTER_PERMISSION_MISSING' as const, message: 'may not list endpoints', fix: '' },
    ];
    const on = stage({ kind: 'faults', faults });
    expect(await runCommandLine(on.context, argv)).toBe(3);
    const said = 'connecting to "https://v": refused; start it\nhostward: may not list endpoints';
    expect(on.err()).toBe(`hostward: ${said}\n`);
    expect(logged(on).at(-1)).toMatchObject({ level: 'fatal', msg: 'the daemon cannot go on', why: said, exitCode: 3 });
    expect(on.calls).toEqual(['start', 'stop']);
  });

  it('ends with 3 when the daemon cannot go on', async () => {
    const on = stage();
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    on.end('the lease was lost');
    expect(await end).toBe(3);
    expect(on.err()).toBe('hostward: the lease was lost\n');
    expect(messages(on)).toEqual(['starting', 'the daemon cannot go on']);
    expect(logged(on).at(-1)).toMatchObject({ level: 'fatal', why: 'the lease was lost', exitCode: 3 });
    expect(on.calls).toEqual(['start', 'stop']);
  });

  it('ends with 3 when its port is taken, and the reason is the only line of the log', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const on = stage(undefined, `hostward: {listen: "127.0.0.1:${port}"}\n`);
    expect(await runCommandLine(on.context, argv)).toBe(3);
    expect(messages(on)).toEqual(['the daemon cannot go on']);
    expect(on.err()).toContain(String(port));
    await new Promise((resolve) => other.close(resolve));
  });

  it('reports faults of the configuration on standard error and starts no daemon', async () => {
    const on = stage(undefined, 'hostward: {listen: nowhere, backSync: some}\n');
    expect(await runCommandLine(on.context, argv)).toBe(1);
    expect(on.err()).toContain('hostward: the configuration has 2 faults\n');
    expect(logged(on)).toEqual([
      expect.objectContaining({
        level: 'fatal',
        why: 'the configuration has 2 faults',
        exitCode: 1,
        faults: [expect.stringContaining('hostward.'), expect.stringContaining('hostward.')],
      }),
    ]);
    expect(on.calls).toEqual([]);
  });
});
