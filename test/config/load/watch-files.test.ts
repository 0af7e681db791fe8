import { afterEach, describe, expect, it } from 'vitest';
import { settingChanges } from '../../../src/config/load/difference.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import {
  type ConfigurationChange,
  type ConfigurationWatch,
  pollIntervalMs,
  settleMs,
  watchConfiguration,
} from '../../../src/config/load/watch-files.ts';
import type { SourceFile } from '../../../src/config/yaml/source-text.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';
import { named, report } from '../loading.ts';

const running: ConfigurationWatch[] = [];
afterEach(async () => {
  for (const watch of running.splice(0)) await watch.stop();
});

function setUp(text: string, stream?: SourceFile) {
  const clock = new VirtualClock();
  const disk = new Map<string, SourceFile>([['a.yaml', { name: 'a.yaml', text }]]);
  if (stream !== undefined) disk.set(stream.name, stream);
  const paths = [...disk.keys()];
  const load = async (files: readonly SourceFile[]) => loadConfiguration({ environment: named, files });
  const files = paths.map((path) => disk.get(path) as SourceFile);
  const loaded = loadConfiguration({ environment: named, files });
  if (loaded.kind !== 'ok') throw new Error(report(loaded));
  const said: string[] = [];
  const reads: string[] = [];
  const onChange = (change: ConfigurationChange) => {
    if (change.kind === 'changed')
      said.push(
        `changed: ${change.changes.map(({ field, needsRestart }) => (needsRestart ? `${field}!` : field)).join(' ')}`,
      );
    else
      said.push(change.kind === 'invalid' ? `invalid: ${change.faults.map((of) => of.code).join(' ')}` : change.kind);
  };
  const read = async (path: string): Promise<SourceFile> => {
    reads.push(path);
    return disk.get(path) ?? { name: path, problem: 'missing' };
  };
  const watch = watchConfiguration({
    paths,
    initial: { files, settings: loaded.settings },
    clock,
    read,
    load,
    onChange,
  });
  running.push(watch);
  watch.start();
  const write = (next: string) => disk.set('a.yaml', { name: 'a.yaml', text: next });
  const told = () => said.splice(0);
  return { clock, watch, write, told, reads, remove: () => disk.delete('a.yaml') };
}

const round = pollIntervalMs + settleMs;

describe('watchConfiguration()', () => {
  it('reports a new configuration once, with the changed settings and those that need a restart', async () => {
    const { clock, write, told } = setUp('hostward: {backSync: all}');
    await clock.advance(10 * pollIntervalMs);
    expect(told()).toEqual([]);
    write('hostward: {backSync: none, listen: "127.0.0.1:1"}');
    await clock.advance(round);
    expect(told()).toEqual(['changed: backSync listen!']);
    await clock.advance(10 * pollIntervalMs);
    expect(told()).toEqual([]);
  });

  it('names a changed list once, without its entries', () => {
    const settings = (yaml: string) => {
      const loaded = loadConfiguration({ files: [{ name: 'v.yaml', text: yaml }], environment: named });
      if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
      return loaded.settings;
    };
    const patched = 'sync: {toHost: {endpoints: {patches: [{path: metadata.labels.a, expression: value}]}}}';
    expect(settingChanges(settings('hostward: {}'), settings(patched)).map(({ paths }) => paths)).toEqual([
      ['sync.toHost.endpoints.patches'],
      [],
    ]);
  });

  it('names a change that only expressions and references read by its path, without its value', () => {
    const settings = (yaml: string) => {
      const loaded = loadConfiguration({ files: [{ name: 'v.yaml', text: yaml }], environment: named });
      if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
      return loaded.settings;
    };
    const changed = (yaml: string) => settingChanges(settings('telemetry: {a: 1}'), settings(yaml));
    const off = changed('{telemetry: {a: 1}, sync: {toHost: {secrets: {enabled: false}}}}');
    expect(off.flatMap(({ paths }) => paths)).toEqual(['sync.toHost.secrets.enabled']);
    const other = changed('{telemetry: {a: 2}, hostward: {backSync: none}, sleepMode: {enabled: true}}');
    expect(other.flatMap(({ paths }) => paths).sort()).toEqual(['hostward.backSync', 'sleepMode', 'telemetry.a']);
  });

  it('waits until a changing file stays the same', async () => {
    const { clock, write, told } = setUp('hostward: {logLevel: info}');
    write('hostward: {logLevel: debug}');
    await clock.advance(pollIntervalMs + settleMs - 1);
    write('hostward: {logLevel: debug, backSync: none}');
    await clock.advance(1);
    expect(told()).toEqual([]);
    await clock.advance(settleMs);
    expect(told()).toEqual(['changed: backSync logLevel']);
  });

  it('keeps the old configuration after a fault, and reports the fault and its correction once each', async () => {
    const { clock, write, told, remove } = setUp('hostward: {backSync: all}');
    write('hostward: {backSync: never}');
    await clock.advance(5 * round);
    expect(told()).toEqual(['invalid: CONFIG_WRONG_VALUE']);
    remove();
    await clock.advance(5 * round);
    expect(told()).toEqual(['invalid: CONFIG_FILE_MISSING']);
    write('hostward: {backSync: all}');
    await clock.advance(5 * round);
    expect(told()).toEqual(['unchanged']);
    write('');
    await clock.advance(round);
    write('hostward: {backSync: none}');
    await clock.advance(round);
    expect(told()).toEqual(['invalid: CONFIG_FILE_EMPTY', 'changed: backSync']);
    // The same fault again, after other contents were taken.
    write('');
    await clock.advance(5 * round);
    expect(told()).toEqual(['invalid: CONFIG_FILE_EMPTY']);
  });

  it('does not report a changed comment', async () => {
    const { clock, write, told } = setUp('hostward: {backSync: all}');
    write('hostward: {backSync: all} # as ever');
    await clock.advance(2 * round);
    expect(told()).toEqual([]);
  });

  it('answers a reload at once, also without a change and with the same fault', async () => {
    const { watch, write, told } = setUp('hostward: {backSync: all}');
    await watch.reload();
    write('hostward: {backSync: none}');
    await watch.reload();
    write('hostward: {backSync: never}');
    await watch.reload();
    await watch.reload();
    expect(told()).toEqual([
      'unchanged',
      'changed: backSync',
      'invalid: CONFIG_WRONG_VALUE',
      'invalid: CONFIG_WRONG_VALUE',
    ]);
  });

  it('does not read a pipe again', async () => {
    const { clock, write, told, reads } = setUp('{}', {
      name: 'pipe',
      text: 'hostward: {backSync: none}',
      isStream: true,
    });
    write('hostward: {logLevel: warn}');
    await clock.advance(round);
    expect(told()).toEqual(['changed: logLevel']);
    expect(reads).not.toContain('pipe');
  });

  it('does not report a configuration that is still loading when the watch stops', async () => {
    const { watch, write, told } = setUp('{}');
    write('hostward: {backSync: none}');
    const asked = watch.reload();
    await watch.stop();
    await asked;
    expect(told()).toEqual([]);
  });

  it('has no timer and makes no report after stop()', async () => {
    const { clock, watch, write, told } = setUp('{}');
    write('hostward: {backSync: none}');
    await watch.stop();
    await clock.advance(5 * round);
    await settle();
    expect([told(), clock.pendingTimers]).toEqual([[], 0]);
  });
});
