import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { freePort } from '../../../src/cli/demo/free-ports.ts';
import { turnMs } from '../../../src/config/steps.ts';
import { settle } from '../../virtual-clock.ts';
import { argv, messages, stage, until } from './run-stage.ts';

describe('a new configuration of hostward run', () => {
  it('applies a new configuration on SIGHUP and by itself, and keeps the old one when the new one is invalid', async () => {
    const on = stage();
    const end = runCommandLine(on.context, argv);
    await until(() => on.out().includes('starting'));
    await settle();
    on.files.set('/home/v.yaml', { text: 'hostward: {listen: "127.0.0.1:0", backSync: none}\n', mode: 0 });
    on.send('reload');
    await until(() => on.calls.includes('apply backSync=none'));
    on.files.set('/home/v.yaml', { text: 'hostward: {listen: "127.0.0.1:0", backSync: some}\n', mode: 0 });
    on.send('reload');
    await until(() => messages(on).includes('new configuration is invalid, the old one stays'));
    on.files.set('/home/v.yaml', { text: 'hostward: {listen: "127.0.0.1:0", backSync: all}\n', mode: 0 });
    await on.clock.advance(10_000);
    await until(() => on.calls.includes('apply backSync=all'));
    on.send('stop');
    expect(await end).toBe(0);
  });

  it('judges a new configuration in turns, so that other work goes on', async () => {
    const on = stage(undefined, 'hostward: {listen: "127.0.0.1:0"}\n');
    const { clock } = on.context;
    // Each reading of the clock ends a turn.
    let now = 0;
    const after = clock.after.bind(clock);
    const hurried = { now: () => (now += turnMs), wallTime: () => clock.wallTime(), after };
    let turns = 0;
    const context = { ...on.context, clock: hurried, turn: async () => void turns++ };
    const end = runCommandLine(context, argv);
    await until(() => on.out().includes('starting'));
    const before = turns;
    const entries = Array.from({ length: 500 }, (_, at) => `{path: metadata.labels.k${at}, expression: value}`);
    const text = `hostward: {listen: "127.0.0.1:0"}\nsync: {toHost: {endpoints: {patches: [${entries}]}}}\n`;
    on.files.set('/home/v.yaml', { text, mode: 0 });
    on.send('reload');
    await until(() => messages(on).includes('configuration applied'));
    expect(turns - before).toBeGreaterThan(500);
    on.send('stop');
    await end;
  });

  it.each([true, false])(
    'says "applied" when a new configuration has come into force, and not before: %s',
    async (isInForce) => {
      const on = stage(undefined, 'hostward: {listen: "127.0.0.1:0"}\n');
      let end = (_: boolean): void => {};
      const inForce = new Promise<boolean>((resolve) => {
        end = resolve;
      });
      on.daemon.apply = () => ({ needsRestart: [], inForce });
      const ended = runCommandLine(on.context, argv);
      await until(() => on.out().includes('starting'));
      on.files.set('/home/v.yaml', { text: 'hostward: {listen: "127.0.0.1:0", backSync: none}\n', mode: 0 });
      on.send('reload');
      await until(() => messages(on).includes('configuration accepted'));
      await settle();
      expect(messages(on)).not.toContain('configuration applied');
      end(isInForce);
      await settle();
      expect(messages(on).includes('configuration applied')).toBe(isInForce);
      on.send('stop');
      await ended;
    },
  );

  it('logs text on a terminal, and JSON from a reload on that asks for it', async () => {
    const on = stage(undefined, undefined, { columns: 80 });
    const end = runCommandLine(on.context, argv);
    await until(() => on.out().includes('main: starting version=1.2.3'));
    const text = 'hostward: {listen: "127.0.0.1:0", logFormat: json}\n';
    on.files.set('/home/v.yaml', { text, mode: 0 });
    on.send('reload');
    await until(() => on.out().includes('"changed":["hostward.logFormat"]'));
    on.send('stop');
    await end;
    expect(JSON.parse(on.out().trim().split('\n').at(-1) ?? '')).toMatchObject({ msg: 'stopped' });
  });

  /** The end of a file that switches vCluster's own sync off. */
  const oneWriter = 'enabled: false}, endpointSlices: {enabled: false}}}';

  it('logs each warning of the configuration once, even after a new configuration', async () => {
    const patched = (path: string) =>
      `hostward: {listen: "127.0.0.1:0", endpoints: {enabled: true}}\nsync: {toHost: {endpoints: {patches: [{path: ${path}, expression: value}], ${oneWriter}\n`;
    const on = stage(undefined, patched('metadata.labels.release'));
    const warned = () =>
      on
        .out()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).warning)
        .filter((warning) => warning !== undefined);
    const end = runCommandLine(on.context, argv);
    await until(() => on.out().includes('starting'));
    expect(warned()).toEqual([expect.stringContaining('the label "release" is called')]);
    on.files.set('/home/v.yaml', { text: `${patched('metadata.labels.release')}# the same\n`, mode: 0 });
    on.send('reload');
    await until(() => messages(on).includes('configuration unchanged'));
    on.files.set('/home/v.yaml', { text: patched('metadata.labels.a.b'), mode: 0 });
    on.send('reload');
    await until(() => messages(on).includes('configuration applied'));
    expect(warned()).toEqual([
      expect.stringContaining('"release"'),
      expect.stringContaining('"b" below metadata.labels.a'),
    ]);
    on.send('stop');
    await end;
  });

  it('names an unsound combination of writers in its status', async () => {
    const port = await freePort();
    const own = `hostward: {listen: "127.0.0.1:${port}", endpoints: {enabled: true}}`;
    const theirs = 'sync: {toHost: {endpoints: {enabled: false}, endpointSlices: {enabled: true}}}';
    const on = stage(undefined, `${own}\n${theirs}\n`);
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    const { warnings } = (await (await fetch(`http://127.0.0.1:${port}/status`)).json()) as { warnings: string[] };
    expect(warnings.join()).toContain('{Endpoints: Hostward, EndpointSlices: vCluster} is an unsound combination');
    on.send('stop');
    await end;
  });

  it('shows only the warnings of the configuration in force in its status', async () => {
    const port = await freePort();
    const yaml = (paths: string[], backSync = 'all') => {
      const patches = paths.map((path) => `{path: ${path}, expression: value}`).join();
      const own = `hostward: {listen: "127.0.0.1:${port}", backSync: ${backSync}, endpoints: {enabled: true}}`;
      return `${own}\nsync: {toHost: {endpoints: {patches: [${patches}], ${oneWriter}\n`;
    };
    interface Status {
      warnings?: string[];
      newConfigurationIsInvalid?: string[];
    }
    const status = async () => (await (await fetch(`http://127.0.0.1:${port}/status`)).json()) as Status;
    const warnings = async () => (await status()).warnings;
    const on = stage(undefined, yaml(['metadata.labels.release', 'metadata.labels.a.b']));
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    const both = [expect.stringMatching(/^v\.yaml:2:\d+: .*"release"/), expect.stringContaining('metadata.labels.a')];
    expect(await warnings()).toEqual(both);
    const take = async (text: string) => {
      const before = on.calls.length;
      on.files.set('/home/v.yaml', { text, mode: 0 });
      on.send('reload');
      await until(() => on.calls.length > before);
    };
    await take(yaml(['metadata.labels.a.b']));
    expect(await warnings()).toEqual([both[1]]);
    // The log has the warning already; the status shows it while it is true.
    await take(yaml(['metadata.labels.release']));
    expect(await warnings()).toEqual([both[0]]);
    on.files.set('/home/v.yaml', { text: yaml([], 'some'), mode: 0 });
    on.send('reload');
    await until(() => messages(on).includes('new configuration is invalid, the old one stays'));
    expect(await warnings()).toEqual([both[0]]);
    // A later reader of the status must see that the running configuration differs from the file.
    expect((await status()).newConfigurationIsInvalid).toEqual([
      expect.stringMatching(/^v\.yaml:1:\d+: hostward\.backSync: .*"some"$/),
    ]);
    await take(yaml(['metadata.labels.app']));
    expect(await status()).toEqual({
      startedAs: {
        program: 'hostward',
        options: [
          { option: 'config', value: '/home/v.yaml' },
          { option: 'vcluster-name', value: 'vc' },
          { option: 'host-namespace', value: 'n' },
        ],
        settingsFile: '/home/v.yaml',
        virtualKubeconfig: '/data/pki/admin.conf',
        restart: 'hostward run --config /home/v.yaml --vcluster-name vc --host-namespace n',
      },
    });
    on.send('stop');
    await end;
  });

  it('reports a rejected configuration and a setting that waits for a restart in verdict, log and series', async () => {
    const port = await freePort();
    const yaml = (more = '') => `hostward: {listen: "127.0.0.1:${port}"${more}}\n`;
    const on = stage(undefined, yaml());
    on.daemon.status = () => ({
      verdict: { state: 'inStep', isWell: true, sentence: 'in step: 1 object', since: '2025-12-31T00:00:00Z' },
      version: '1',
    });
    on.daemon.apply = (settings) => {
      on.calls.push('apply');
      const needsRestart = settings.backSync === 'none' ? ['hostward.backSync'] : [];
      return { needsRestart, inForce: Promise.resolve(true) };
    };
    const end = runCommandLine(on.context, argv);
    await until(() => on.calls.includes('start'));
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    const verdict = async () => JSON.parse(await ask('/status')).verdict;
    const series = async (name: string) =>
      (await ask('/metrics'))
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n');
    const take = async (text: string, message: string) => {
      const before = messages(on).length;
      on.files.set('/home/v.yaml', { text, mode: 0 });
      on.send('reload');
      await until(() => messages(on).slice(before).includes(message));
    };
    expect(await verdict()).toMatchObject({ state: 'inStep', isWell: true, sentence: 'in step: 1 object' });
    const rejected = 'new configuration is invalid, the old one stays';
    await take(yaml(', backSync: some'), rejected);
    const column = yaml(', backSync: some').indexOf('some') + 1;
    const refusal = `the new configuration is invalid and the old one is in force: v.yaml:1:${column}: hostward.backSync: wanted one of all, none, found "some"`;
    const { since, ...told } = await verdict();
    expect(since).toMatch(/Z$/);
    expect(told).toEqual({
      state: 'inStep',
      isWell: false,
      sentence: `${refusal}; in step: 1 object`,
      parts: [
        { part: refusal, since },
        { part: 'in step: 1 object', since: '2025-12-31T00:00:00Z' },
      ],
    });
    expect(since).not.toBe('2025-12-31T00:00:00Z');
    expect((await ask('/readyz')).split('\n')[0]).toBe('ok');
    expect(await series('hostward_config_rejected')).toBe('hostward_config_rejected 1');
    await take(yaml(', backSync: none'), 'settings wait for a restart');
    expect(await verdict()).toMatchObject({
      isWell: false,
      sentence: 'waiting for a restart: hostward.backSync; in step: 1 object',
    });
    await take(yaml(', backSync: none, maxWritesPerSecond: 7'), 'configuration applied');
    expect(messages(on).filter((message) => message === 'settings wait for a restart')).toHaveLength(1);
    expect(await series('hostward_config_settings')).toBe('hostward_config_settings_waiting_for_restart 1');
    expect(await series('hostward_config_re')).toBe(
      'hostward_config_reloads_total{result="accepted"} 2\n' +
        'hostward_config_reloads_total{result="rejected"} 1\nhostward_config_rejected 0',
    );
    expect(await series('hostward_build_info')).toBe('hostward_build_info{version="1.2.3",node_version="v26.0.0"} 1');
    expect(await series('process_')).toBe(
      'process_cpu_user_seconds_total 1.5\nprocess_cpu_system_seconds_total 0.5\nprocess_cpu_seconds_total 2\n' +
        'process_resident_memory_bytes 1024\nprocess_start_time_seconds 1000\nprocess_open_fds 0',
    );
    on.send('stop');
    await end;
  });
});
